(** * Distances that are multiples of one part of a whole

    Where each feature's costs are whole in parts of [D], so is every distance, and none lies between two neighbouring
    whole numbers: a bound beyond the last one below a claim proves the claim.

    Main theorem: [whole_distance]. *)

From Coq Require Import ZArith QArith Qround Qminmax List Bool Lia Lqa.
From Mace Require Import Rounding Ensemble CutTree Costs.
Import ListNotations.
Open Scope Q_scope.

Definition is_whole (q : Q) : bool := Qeq_bool (inject_Z (Qfloor q)) q.

(** The start is all that a feature allows. *)
Definition stays (f : feature) : bool :=
  match domain_of f with
  | Between lower upper => (lower =? start f)%Z && (upper =? start f)%Z
  | Among mask => (0 <=? start f)%Z && (mask =? 2 ^ start f)%Z
  end.

Definition costs_whole (s : statement) (D : positive) (f : feature) : bool :=
  let of_size := inject_Z (Zpos D) * (beta s * weight f) in
  let of_largest := inject_Z (Zpos D) * (gamma s * weight f) in
  let step := / (inject_Z (Zpos (denominator (kind_of f))) * scale f) in
  stays f ||
  (is_whole (inject_Z (Zpos D) * (alpha s * weight f)) &&
   match kind_of f with
   | Float64 | Float32 => Qeq_bool of_size 0 && Qeq_bool of_largest 0
   | _ => is_whole (of_size * step) && is_whole (of_largest * step)
   end &&
   match absent f with Some (_, c) => is_whole (of_size * c) && is_whole (of_largest * c) | None => true end).

Definition whole_distances (s : statement) (D : positive) : bool := forallb (costs_whole s D) (features s).

(** ** Proofs *)

Definition whole_number (q : Q) : Prop := exists n, q == inject_Z n.

Lemma is_whole_sound q : is_whole q = true -> whole_number q.
Proof. unfold is_whole. intro H. apply Qeq_bool_eq in H. exists (Qfloor q). symmetry. exact H. Qed.

Lemma whole_zero q : q == 0 -> whole_number q.
Proof. intro H. exists 0%Z. exact H. Qed.

Lemma whole_same q r : q == r -> whole_number r -> whole_number q.
Proof. intros E [n H]. exists n. rewrite E. exact H. Qed.

Lemma whole_plus q r : whole_number q -> whole_number r -> whole_number (q + r).
Proof. intros [m M] [n N]. exists (m + n)%Z. rewrite inject_Z_plus, M, N. reflexivity. Qed.

Lemma whole_times m q : whole_number q -> whole_number (inject_Z m * q).
Proof. intros [n N]. exists (m * n)%Z. rewrite inject_Z_mult, N. reflexivity. Qed.

Lemma staying f i : stays f = true -> allows f i -> i = start f.
Proof.
  unfold stays, allows. destruct (domain_of f) as [lower upper | mask]; rewrite andb_true_iff, ?Z.leb_le, !Z.eqb_eq.
  - lia.
  - intros [P ->] [N T]. rewrite Z.pow2_bits_eqb in T by exact P. apply Z.eqb_eq in T. congruence.
Qed.

Lemma unmoved f : delta f (start f) == 0 /\ changed f (start f) == 0.
Proof.
  assert (across f (start f) = None) as X.
  { unfold across. destruct (absent f) as [[m c] |]; auto. rewrite Z.eqb_refl. reflexivity. }
  unfold delta, changed, moved. rewrite X, Z.sub_diag. simpl. split; [| reflexivity].
  unfold Qdiv. setoid_replace (0 # Z.to_pos (2 ^ shift (kind_of f)) * denominator (kind_of f)) with 0 by reflexivity. ring.
Qed.

Section Distances.
Variable s : statement.
Variable D : positive.
Let unit := inject_Z (Zpos D).

Lemma costs_are_whole f i : costs_whole s D f = true -> allows f i ->
  whole_number (unit * (alpha s * (weight f * changed f i))) /\
  whole_number (unit * (beta s * (weight f * delta f i))) /\
  whole_number (unit * (gamma s * (weight f * delta f i))).
Proof.
  unfold costs_whole. cbv zeta. fold unit. intros C A. apply orb_true_iff in C as [C | C].
  { rewrite (staying f i C A). destruct (unmoved f) as [U V]. repeat split; apply whole_zero; rewrite ?U, ?V; ring. }
  rewrite !andb_true_iff in C. destruct C as ((Ca & Cs) & Cm). apply is_whole_sound in Ca.
  assert (whole_number (unit * (alpha s * (weight f * changed f i)))) as First.
  { unfold changed. destruct (across f i) as [c |].
    - destruct (Qeq_bool c 0); [apply whole_zero; ring | eapply whole_same; [| exact Ca]; ring].
    - destruct (moved f i =? 0)%Z; [apply whole_zero; ring | eapply whole_same; [| exact Ca]; ring]. }
  split; [exact First |]. clear First Ca. unfold delta. destruct (across f i) as [c |] eqn:X.
  - unfold across in X. destruct (absent f) as [[m known] |]; [| discriminate].
    destruct (negb (i =? start f)%Z && ((i =? m)%Z || (start f =? m)%Z)); [| discriminate]. injection X as ->.
    apply andb_true_iff in Cm as [C1 C2]. apply is_whole_sound in C1, C2.
    split; [eapply whole_same; [| exact C1]; ring | eapply whole_same; [| exact C2]; ring].
  - clear Cm X. pose proof (moved_apart (moved f i) (Z.to_pos (2 ^ shift (kind_of f))) (denominator (kind_of f)) (scale f)) as E.
    set (step := / (inject_Z (Zpos (denominator (kind_of f))) * scale f)) in *.
    set (size := (moved f i # Z.to_pos (2 ^ shift (kind_of f)) * denominator (kind_of f)) / scale f) in *. clearbody size.
    assert (forall q, q == 0 -> whole_number (unit * (q * size))) as None_charged.
    { intros q Q0. apply whole_zero. rewrite Q0. ring. }
    assert (shift (kind_of f) = 0%Z -> forall q, whole_number (unit * q * step) -> whole_number (unit * (q * size))) as Charged.
    { intros S q W. eapply whole_same; [| exact (whole_times (moved f i) _ W)]. rewrite E, S.
      change (moved f i # Z.to_pos (2 ^ 0)) with (inject_Z (moved f i)). ring. }
    assert (forall g : Q, unit * (g * weight f) == 0 -> g * weight f == 0) as Free.
    { intros g H. apply Qmult_integral in H as [H | H]; [discriminate H | exact H]. }
    assert (whole_number (unit * (beta s * weight f * size)) /\ whole_number (unit * (gamma s * weight f * size))) as [K1 K2].
    { destruct (kind_of f); apply andb_true_iff in Cs as [C1 C2];
        try (apply is_whole_sound in C1, C2; split; apply Charged; auto; fail);
        apply Qeq_bool_eq in C1, C2; split; apply None_charged, Free; assumption. }
    split; [eapply whole_same; [| exact K1]; ring | eapply whole_same; [| exact K2]; ring].
Qed.

Theorem whole_distance x : whole_distances s D = true -> Forall2 allows (features s) x ->
  whole_number (unit * distance s x).
Proof.
  unfold whole_distances, distance, distance_by. intros C A.
  assert (whole_number (unit * (alpha s * total (fun f i => weight f * changed f i) (features s) x)) /\
          whole_number (unit * (beta s * total (fun f i => weight f * delta f i) (features s) x)) /\
          whole_number (unit * (gamma s * largest (fun f i => weight f * delta f i) (features s) x))) as (S1 & S2 & S3).
  { induction A as [| f i fs y A _ IH]; cbn [total largest].
    - repeat split; apply whole_zero; ring.
    - cbn [forallb] in C. apply andb_true_iff in C as [C1 C]. destruct (IH C) as (I1 & I2 & I3).
      destruct (costs_are_whole f i C1 A) as (J1 & J2 & J3). repeat split.
      + eapply whole_same; [| exact (whole_plus _ _ J1 I1)]. ring.
      + eapply whole_same; [| exact (whole_plus _ _ J2 I2)]. ring.
      + destruct (Q.max_spec (weight f * delta f i) (largest (fun f i => weight f * delta f i) fs y)) as [[_ E] | [_ E]];
          (eapply whole_same; [rewrite E; reflexivity | assumption]). }
  eapply whole_same; [| exact (whole_plus _ _ (whole_plus _ _ S1 S2) S3)]. ring.
Qed.
End Distances.
