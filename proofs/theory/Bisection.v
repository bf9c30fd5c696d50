(** * The driver keeps its bracket

    [lower <= true distance <= upper] is an invariant of mace/solve/driver.py (algorithm 1 of Karimi, Barthe, Balle, Valera
    2020): a witness moves [upper] to its own distance, a refuted radius moves [lower] to that radius. After the strict
    last question ("is there anything closer than the witness?") a refutation gives equality.

    Main theorems:
    - [bracket_kept]:      every sequence of sound replies keeps the bracket valid;
    - [lower_is_a_bound], [upper_is_a_bound]: lower <= true distance <= upper for a valid bracket;
    - [strict_question_closes]: refuting everything closer than the witness makes the witness a nearest one;
    - [refuted_everywhere]: refuting the question without a radius means that nothing has the goal;
    - [question_halves]:   a reply to the middle halves the gap. *)

From Coq Require Import QArith Qminmax List Lqa.

Section Bisection.

Variable point : Type.
Variable goal : point -> Prop.        (** allowed, and decided as asked *)
Variable distance : point -> Q.

(** What an oracle says. [Refuted_within r]: no goal at distance <= r; [Refuted_closer r]: none at distance < r.
    [Proved_lower r] is what an [Unknown] or a [Found] may still have proved. *)
Inductive reply :=
| Found (p : point)
| Refuted_within (r : Q)
| Refuted_closer (r : Q)
| Proved_lower (r : Q)
| Unknown.

Definition none_closer (r : Q) := forall p, goal p -> r <= distance p.

Definition sound (a : reply) : Prop :=
  match a with
  | Found p => goal p
  | Refuted_within r => forall p, goal p -> ~ distance p <= r
  | Refuted_closer r => forall p, goal p -> ~ distance p < r
  | Proved_lower r => none_closer r
  | Unknown => True
  end.

Record bracket := { lower : Q; witness : point }.
Definition upper (b : bracket) : Q := distance (witness b).

Definition better (p q : point) : point := if Qlt_le_dec (distance p) (distance q) then p else q.
Definition raised (b : bracket) (r : Q) : bracket := {| lower := Qmax (lower b) r; witness := witness b |}.

Definition step (b : bracket) (a : reply) : bracket :=
  match a with
  | Found p => {| lower := lower b; witness := better p (witness b) |}
  | Refuted_within r | Refuted_closer r | Proved_lower r => raised b r
  | Unknown => b
  end.

Definition valid (b : bracket) := none_closer (lower b) /\ goal (witness b).

Lemma raised_valid b r : valid b -> none_closer r -> valid (raised b r).
Proof.
  intros [L W] R. split; auto. intros p G. simpl. apply Q.max_lub; auto.
Qed.

Lemma step_valid b a : valid b -> sound a -> valid (step b a).
Proof.
  intros V S. destruct a as [p | r | r | r |]; simpl in *.
  - destruct V as [L W]. split; auto. simpl. unfold better. destruct (Qlt_le_dec _ _); auto.
  - apply raised_valid; auto. intros p G. specialize (S p G). lra.
  - apply raised_valid; auto. intros p G. specialize (S p G). lra.
  - apply raised_valid; auto.
  - exact V.
Qed.

Theorem bracket_kept (replies : list reply) : forall b,
  valid b -> Forall sound replies -> valid (fold_left step replies b).
Proof.
  induction replies as [| a l IH]; simpl; intros b V F; auto.
  inversion F; subst. apply IH; auto. apply step_valid; auto.
Qed.

(** Each step moves the two bounds in the right direction only. *)
Theorem bracket_narrows b a : lower b <= lower (step b a) /\ upper (step b a) <= upper b.
Proof.
  destruct a as [p | r | r | r |]; unfold upper; simpl; try (split; [apply Q.le_max_l || lra | lra]); try lra.
  unfold better. destruct (Qlt_le_dec _ _); simpl; lra.
Qed.

(** The true distance: of a nearest point with the goal, when there is one. *)
Definition true_distance (d : Q) := none_closer d /\ exists p, goal p /\ distance p == d.

Theorem lower_is_a_bound b d : valid b -> true_distance d -> lower b <= d.
Proof. intros [L _] [_ (p & G & E)]. rewrite <- E. auto. Qed.

Theorem upper_is_a_bound b d : valid b -> true_distance d -> d <= upper b.
Proof. intros [_ W] [N _]. apply N, W. Qed.

Theorem bounds_meet b : valid b -> lower b == upper b -> true_distance (upper b).
Proof.
  intros [L W] E. split.
  - intros p G. rewrite <- E. auto.
  - exists (witness b). split; [exact W | reflexivity].
Qed.

(** The strict last question. *)
Theorem strict_question_closes b : valid b -> sound (Refuted_closer (upper b)) ->
  true_distance (upper b) /\ lower (step b (Refuted_closer (upper b))) == upper b.
Proof.
  intros [L W] S. simpl in S. split.
  - split; [intros p G; specialize (S p G); lra |]. exists (witness b). split; [exact W | reflexivity].
  - simpl. apply Q.max_r. apply L, W.
Qed.

(** The question without a radius. *)
Theorem refuted_everywhere : (forall r, sound (Refuted_within r)) -> forall p, ~ goal p.
Proof. intros S p G. apply (S (distance p) p G). lra. Qed.

(** Progress: at the middle, a witness within the radius or a refutation halves the gap. *)
Theorem question_halves b a m : m == (lower b + upper b) / 2 ->
  a = Refuted_within m \/ a = Refuted_closer m \/ (exists p, a = Found p /\ distance p <= m) ->
  (upper (step b a) - lower (step b a)) * 2 <= upper b - lower b.
Proof.
  intros M C. unfold upper.
  assert (m * 2 == lower b + upper b) as E by (rewrite M; field). unfold upper in E.
  destruct C as [-> | [-> | (p & -> & D)]]; simpl.
  - pose proof (Q.le_max_r (lower b) m). lra.
  - pose proof (Q.le_max_r (lower b) m). lra.
  - unfold better. destruct (Qlt_le_dec _ _); lra.
Qed.

End Bisection.
