"""A bound that was proved: its certificate, and a shorter proof of it.

In:  what an answer, or one level of it, holds: the question as its oracle answered it, the bounds and the proof.
Out: `Proved`, which answers and levels share.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from mace.base.deadline import NEVER, Deadline
from mace.errors import CertificateError
from mace.problem.distance import NearestRow
from mace.problem.proof import Cliques, GoalPart, Narrow, Priced
from mace.solve.status import Status

if TYPE_CHECKING:
    from mace.certify.record import SolverCertificate
    from mace.certify.writer import Certificate
    from mace.explain.proved.together import Together
    from mace.problem.proof import Proof
    from mace.problem.question import Question

LONG_PROOF = 2000


class Proved:
    """What a bound rests on; the fields are those of `Answer` and `Level`.

    unproved: why there is no proof that a certificate could hold, where that is no limit.
    """

    status: Status
    exact_lower_bound: Fraction
    exact_distance: Fraction | None
    oracle: str
    why: str
    seconds: float
    question: Question | None
    proof: Proof | None
    unproved: str
    witness: tuple[int, ...] | None
    timeout: float | None
    together: Together | None = None

    @property
    def claim(self) -> Fraction | None:
        """No allowed point with the goal is closer than this, by the question's distance; None if there is none."""
        raise NotImplementedError

    @property
    def certificate(self) -> Certificate | SolverCertificate:
        """The proof of the bound, for `certificate.check()` and `certificate.save(path)`.

        It is written when it is asked for, and no time limit counts that.
        An answer of the solvers has a `SolverCertificate`: the refuted question, two verdicts, cvc5's proof.
        Raises CertificateError when there is none, saying why.
        """
        if self.together is not None:
            return self.together.certificate()
        if self.by_solvers:
            from mace.certify.record import solver_certificate

            assert self.question is not None
            return solver_certificate(self.question, self.claim)
        if self.proof is None or self.question is None:
            why = self.unproved or self.why or f"the oracle {self.oracle!r} writes none"
            provers = 'Certificates come from the provers (oracle="auto", "ensembles" or "networks").'
            raise CertificateError(f"this answer has no certificate: {why}", hint="" if self.unproved else provers)
        if isinstance(self.question.distance, NearestRow):
            from mace.certify.rows import rows_certificate

            return rows_certificate(self.question, self.claim or Fraction(0), self.witness, self.proof)
        from mace.certify.writer import certificate

        return certificate(self.question, self.claim, self.witness, self.short_proof())

    @property
    def by_solvers(self) -> bool:
        """Whether there is a bound that rests on solvers: its certificate is then a `SolverCertificate`."""
        bounded = self.claim is None or self.claim > 0
        return self.proof is None and self.question is not None and self.oracle == "smt" and bounded

    def short_proof(self, deadline: Deadline = NEVER) -> Proof:
        """The proof, or a much shorter one: where the bound is known, cuts can be chosen by what both sides prove.

        A search that came to the linear relaxation did so because without it boxes are too many; one that divided the
        goal cuts boxes for each part alone already.
        """
        assert self.proof is not None and self.question is not None
        if self.oracle != "ensembles" or len(self.proof) < LONG_PROOF:
            return self.proof
        if any(isinstance(node, (GoalPart, Priced, Narrow, Cliques)) for node in self.proof):
            return self.proof
        from mace.solve.ensembles.shortening.shorter import shorter

        left = deadline.within(self.timeout if self.timeout is None else max(0.0, self.timeout - self.seconds))
        deadline = left.within(self.seconds * 4 + 10)
        if deadline.over:
            return self.proof
        return shorter(self.question, self.claim, len(self.proof) - 1, deadline) or self.proof
