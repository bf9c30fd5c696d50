(** * An executable checker for the certificates of linear models, proved sound

    [linear_accepts statement model certificate witness] runs inside Coq, and extracted (../verified);
    [linear_certificate_sound] turns its answer "true" into a theorem about the deployed model as Linear.v defines it,
    which adds in any order: at every allowed point no column and no sum overflows, and every point that may have the goal
    is at least as far as the claim says, or there is none; and the witness is real. No premise is left.

    The tree of boxes is that of Nodes.v. A leaf "dual" gives multipliers for each part of the goal: the distance and the
    multiplied comparisons are minimised on each axis by itself (Least.v), with whole numbers, rounded downwards.

    Main theorems: [linear_check_sound], [linear_witness_sound], [linear_certificate_sound]. *)

From Coq Require Import ZArith QArith Qabs Qround Qminmax List Bool Permutation Lia Lqa.
From Mace Require Import Rounding Ensemble CutTree Costs Columns Rules Nodes Witness Sums Linear Least Comparisons Lattice.
Import ListNotations.
Open Scope Z_scope.

(** ** The leaf "dual" *)

Definition times_grain (q : Q) : Z := Qfloor (q * inject_Z (Zpos grain)).

(** Weights and meanings of the columns, by feature; what is not multiplied is left out. *)
Fixpoint gathered (n : nat) (vs : list Z) (columns : list (nat * meaning)) : list (list (Z * meaning)) :=
  match vs, columns with
  | v :: vs, (j, m) :: columns =>
      let g := gathered n vs columns in if v =? 0 then g else push j (v, m) g
  | _, _ => repeat [] n
  end.

Definition shares_of (n : nat) (l : list (nat * Q)) : list Z :=
  map (fun j => fold_right (fun kq t => if Nat.eqb (fst kq) j then times_grain (snd kq) + t else t) 0 l) (seq 0 n).

Section Check.
Variable s : statement.
Variable D : positive.
Variable axes : list (axis * list price).
Variable columns : list (nat * meaning).

Definition theta : Q := match closer_than s with Some _ => 1%Q | None => 0%Q end.

Fixpoint sum_least (axes : list (axis * list price)) (b : list range) (shares : list Z) (gs : list (list (Z * meaning)))
  : option Z :=
  match axes, b, shares, gs with
  | a :: axes, r :: b, share :: shares, g :: gs =>
      match axis_least s D theta a r share g, sum_least axes b shares gs with
      | Some m, Some t => Some (m + t)
      | _, _ => None
      end
  | [], [], [], [] => Some 0
  | _, _, _, _ => None
  end.

(** A part of the goal cannot hold at a point of the box that is nearer than the claim. *)
Definition part_closed (b : list range) (forms : list form) (given : multipliers) : bool :=
  let n := length axes in
  let ls := map times_grain (factors given) in
  let shares := shares_of n (shares given) in
  let f := combined ls forms (length columns) in
  forallb (Z.leb 0) ls && forallb (Z.leb 0) shares && (fold_right Z.add 0 shares <=? Zpos grain) &&
  Nat.eqb (length ls) (length forms) &&
  match sum_least axes b shares (gathered n (fst f) columns) with
  | None => false
  | Some m =>
      let found := m + down D (snd f # grain * small) in
      match closer_than s with
      | Some q =>
          (Qceiling (inject_Z (Zpos (finer D)) * q) <=? found) ||
          (* No distance lies between the last one below the claim and the claim. *)
          (whole_distances s D && (2 ^ 400 * (Qceiling (inject_Z (Zpos D) * q) - 1) <? found))
      | None => 0 <? found
      end
  end.

Fixpoint all_closed (b : list range) (goal : list (list form)) (parts : list multipliers) : bool :=
  match goal, parts with
  | forms :: goal, given :: parts => part_closed b forms given && all_closed b goal parts
  | [], [] => true
  | _, _ => false
  end.

(** The leaves that a linear model adds to the tree of boxes. *)
Definition linear_closes (goal : list (list form)) (open : list bool) (p : proof) (b : list range) : bool :=
  match p with Dual parts => all_closed b (opened open goal) parts | _ => false end.
End Check.

(** Every score has a weight for every column, and no sum overflows. *)
Definition sound_output (s : statement) (bounds : list (Z * Z)) (out : list float * float) : bool :=
  Nat.eqb (length (fst out)) (length (columns s)) && (whole_reach bounds out <? 2 ^ 3296).

Definition linear_formed (s : statement) (D : positive) (model : outputs) : bool :=
  sound_statement s D && forallb (sound_column (features s)) (columns s) && linear_readable s &&
  Qle_bool 0 (alpha s) && forallb (sound_output s (map (bounds_up s) (columns s))) model.

Definition linear_check (s : statement) (model : outputs) (c : certificate) : bool :=
  let D := cost_unit c in
  let axes := axes_of s D in
  let bounds := map (bounds_up s) (columns s) in
  linear_formed s D model &&
  let closes := linear_closes s D axes (map (fun c => (feature_of c, meaning_of c)) (columns s))
    (map (map (form_of s model bounds)) (goal s)) in
  check_tree s axes (limit_of s D) bool (fun _ => closes) (fun _ _ _ _ => None) true (proof_of c).

(** ** The witness *)

(** What the columns are given at a point, and the exact terms of a score there, in 2^-2148. *)
Definition fed_at (s : statement) (x : point) (c : column) : Z :=
  match nth_error (features s) (feature_of c) with Some f => column_fast f c (nth (feature_of c) x 0) | None => 0 end.

Definition products (out : list float * float) (given : list Z) : list Z :=
  units (snd out) * whole :: map (fun wv => fst wv * snd wv) (combine (weights_of out) given).

(** The exact score, and how far the float score may be from it. *)
Definition score_at (given : list Z) (out : list float * float) : Z * Z :=
  let l := products out given in
  let k := Z.of_nat (length l) in
  (fold_right Z.add 0 l,
   k * fold_right (fun v t => Z.abs v + t) 0 l / (2 ^ 53 - k) + 2 * k * (2 ^ 52 * whole)).

Definition certainly_holds (s : statement) (scores : list (Z * Z)) (c : comparison) : bool :=
  let at_side side := match side with Some k => nth k scores (0, 0) | None => (0, 0) end in
  let p := at_side (plus c) in
  let m := at_side (minus c) in
  (units (than c) + Z.max 0 (squash s) * 2 ^ 1021) * whole <? fst p - fst m - (snd p + snd m).

Definition linear_witness (s : statement) (model : outputs) (x : point) (d : Q) : bool :=
  is_there s x d &&
  (let scores := map (score_at (map (fed_at s x) (columns s))) model in
   existsb (forallb (certainly_holds s scores)) (goal s)).

(** A certificate, and its witness if it has one. *)
Definition linear_accepts (s : statement) (model : outputs) (c : certificate) (witness : option (point * Q)) : bool :=
  match witness with Some (x, d) => linear_witness s model x d | None => true end && linear_check s model c.

(** ** Proofs *)

Open Scope Q_scope.

(** *** Columns, gathered by feature *)

Fixpoint total_reads (gs : list (list (Z * meaning))) (fs : list feature) (x : point) : Q :=
  match gs, fs, x with g :: gs, f :: fs, i :: x => reads g f i + total_reads gs fs x | _, _, _ => 0 end.

Lemma push_total v m : forall j gs fs x f, nth_error fs j = Some f -> length gs = length fs -> length x = length fs ->
  total_reads (push j (v, m) gs) fs x == inject_Z v * means m f (nth j x 0%Z) + total_reads gs fs x.
Proof.
  induction j as [| j IH]; intros [| l gs] [| g fs] [| i x] f E L M; try discriminate; cbn [push total_reads nth].
  - injection E as ->. cbn [reads fold_right fst snd]. fold (reads l f i). ring.
  - cbn [nth_error] in E. rewrite (IH gs fs x f E) by (simpl in *; lia). ring.
Qed.

Lemma gathered_length n vs columns : length (gathered n vs columns) = n.
Proof.
  revert columns. induction vs as [| v vs IH]; intros [| [j m] columns]; cbn [gathered]; try apply repeat_length.
  destruct (v =? 0)%Z; rewrite ?push_length; apply IH.
Qed.

Lemma total_reads_none n fs x : total_reads (repeat [] n) fs x == 0.
Proof.
  revert fs x. induction n as [| n IH]; intros [| f fs] [| i x]; cbn [repeat total_reads]; try reflexivity.
  rewrite IH. reflexivity.
Qed.

Lemma gathered_total s x cs : length x = length (features s) ->
  forallb (fun c => match nth_error (features s) (feature_of c) with Some _ => true | None => false end) cs = true ->
  forall vs, total_reads (gathered (length (features s)) vs (map (fun c => (feature_of c, meaning_of c)) cs)) (features s) x
  == dotz vs (map (column_meant s x) cs).
Proof.
  intros L. induction cs as [| c cs IH]; intros K [| v vs]; cbn [map gathered dotz]; try apply total_reads_none.
  cbn [forallb] in K. apply andb_true_iff in K as [K1 K]. specialize (IH K vs).
  destruct (nth_error (features s) (feature_of c)) as [f |] eqn:E; [| discriminate].
  unfold column_meant at 1. rewrite E. destruct (Z.eqb_spec v 0) as [-> | _].
  - rewrite IH. ring.
  - rewrite (push_total v _ _ _ _ _ f E); [| apply gathered_length | exact L]. rewrite IH, meaning_sound. reflexivity.
Qed.

(** *** The distance has at least the shares of its parts *)

Fixpoint shared (term : feature -> Z -> Q) (shares : list Z) (fs : list feature) (x : point) : Q :=
  match shares, fs, x with
  | share :: shares, f :: fs, i :: x => (share # grain) * term f i + shared term shares fs x
  | _, _, _ => 0
  end.

Lemma shared_below term shares fs x most : 0 <= most -> largest term fs x <= most -> forallb (Z.leb 0) shares = true ->
  shared term shares fs x <= (fold_right Z.add 0%Z shares # grain) * most.
Proof.
  intros P. assert (forall shares, forallb (Z.leb 0) shares = true -> 0 <= fold_right Z.add 0%Z shares # grain) as N.
  { clear shares. induction shares as [| z shares IH]; cbn [forallb fold_right]; intro S; [discriminate |].
    apply andb_true_iff in S as [S0 S]. specialize (IH S). apply Z.leb_le in S0.
    unfold Qle in *. cbn [Qnum Qden] in *. lia. }
  revert fs x. induction shares as [| z shares IH]; intros [| f fs] [| i x] L S; cbn [shared];
    try (apply Qmult_le_0_compat; [apply N; exact S | exact P]).
  cbn [largest forallb fold_right] in *. apply andb_true_iff in S as [S0 S].
  pose proof (Q.le_max_l (term f i) (largest term fs x)). pose proof (Q.le_max_r (term f i) (largest term fs x)).
  specialize (IH fs x ltac:(lra) S).
  setoid_replace (z + fold_right Z.add 0%Z shares # grain) with ((z # grain) + (fold_right Z.add 0%Z shares # grain))
    by (unfold Qeq, Qplus; cbn [Qnum Qden]; rewrite !Pos2Z.inj_mul; ring).
  assert (0 <= z # grain) as Z0 by (apply Z.leb_le in S0; unfold Qle; cbn [Qnum Qden]; lia).
  pose proof (scaled_le (term f i) most _ Z0 ltac:(lra)). lra.
Qed.

Lemma largest_nonnegative term fs x : 0 <= largest term fs x \/ largest term fs x == 0.
Proof.
  revert x. induction fs as [| f fs IH]; intros [| i x]; cbn [largest]; try (right; reflexivity).
  left. destruct (IH x) as [K | K]; [| assert (0 <= largest term fs x) by lra];
    (eapply Qle_trans; [| apply Q.le_max_r]); assumption.
Qed.

Lemma as_long fs (x : point) : Forall2 allows fs x -> length x = length fs.
Proof. induction 1; simpl; congruence. Qed.

Section Sound.
Variable s : statement.
Variable D : positive.
Variable x : point.
Hypothesis sound : forallb sound_axis (map (axis_of s D) (features s)) = true.
Hypothesis allows_x : Forall2 allows (features s) x.
Hypothesis alpha_nonnegative : 0 <= alpha s.
Hypothesis gamma_nonnegative : 0 <= gamma s.
Let paid := payments (map (axis_of s D) (features s)) x.

Lemma theta_nonnegative : 0 <= theta s.
Proof. unfold theta. destruct (closer_than s); discriminate. Qed.

Fixpoint total_adds (gs : list (list (Z * meaning))) (shares : list Z) (fs : list feature) (y : point) : Q :=
  match gs, shares, fs, y with
  | g :: gs, share :: shares, f :: fs, i :: y => adds_at s (theta s) g share f i + total_adds gs shares fs y
  | _, _, _, _ => 0
  end.

Lemma sum_least_sound b shares gs m : forallb (Z.leb 0) shares = true -> inside b paid ->
  sum_least s D (axes_of s D) b shares gs = Some m ->
  inject_Z m <= inject_Z (Zpos (finer D)) * total_adds gs shares (features s) x.
Proof.
  unfold paid, inside, axes_of. clear gamma_nonnegative. revert b shares gs m. revert sound.
  induction allows_x as [| f i fs y A F IH]; intros S [| r b] [| share shares] [| g gs] m N I E; cbn [map sum_least] in E;
    try discriminate.
  - injection E as <-. cbn [total_adds]. rewrite Qmult_0_r. apply Qle_refl.
  - cbn [map payments] in I. inversion I as [| ? ? ? ? C R]; subst. cbn [map forallb] in S, N.
    apply andb_true_iff in S as [S1 S2]. apply andb_true_iff in N as [N1 N2]. apply Z.leb_le in N1.
    destruct (axis_least s D (theta s) _ r share g) as [v |] eqn:V; [| discriminate].
    destruct (sum_least s D _ b shares gs) as [t |] eqn:T; [| discriminate]. injection E as <-.
    specialize (IH F S2 b shares gs t N2 R T). cbn [total_adds].
    pose proof (axis_least_sound s D (theta s) theta_nonnegative alpha_nonnegative f r share g i v S1 A N1 C V) as K.
    rewrite inject_Z_plus, Qmult_plus_distr_r. apply Qplus_le_compat; assumption.
Qed.

Lemma total_adds_is gs shares : length shares = length (features s) ->
  length gs = length (features s) ->
  total_adds gs shares (features s) x == (1 # weight_unit) * total_reads gs (features s) x +
    theta s * (alpha s * total (fun f i => weight f * changed f i) (features s) x +
               beta s * total (fun f i => weight f * delta f i) (features s) x +
               gamma s * shared (fun f i => weight f * delta f i) shares (features s) x).
Proof.
  clear - allows_x. revert gs shares. induction allows_x as [| f i fs y A F IH]; intros [| g gs] [| share shares] L M;
    try discriminate; cbn [total_adds total_reads total shared].
  - ring.
  - rewrite (IH F gs shares) by (simpl in *; lia). unfold adds_at, weighed. ring.
Qed.

Variable model : outputs.
Hypothesis is_readable : linear_readable s = true.
Variable rs : list Z.
Hypothesis scores : Forall2 (float_score s x) model rs.
Let bounds := map (bounds_up s) (columns s).
Let meanings := map (fun c => (feature_of c, meaning_of c)) (columns s).

Theorem part_closed_sound b part given : inside b paid ->
  part_closed s D (axes_of s D) meanings b (map (form_of s model bounds) part) given = true ->
  Forall (may_hold s rs) part ->
  match closer_than s with Some q => q <= distance s x | None => False end.
Proof.
  intros I C H. unfold part_closed in C. cbv zeta in C.
  set (forms := map (form_of s model bounds) part) in *. set (ls := map times_grain (factors given)) in *.
  assert (length (axes_of s D) = length (features s)) as Len by (unfold axes_of; rewrite !map_length; reflexivity).
  rewrite Len in C. set (shares := shares_of (length (features s)) (Nodes.shares given)) in *.
  assert (length shares = length (features s)) as LS by (unfold shares, shares_of; rewrite map_length, seq_length; reflexivity).
  rewrite !andb_true_iff, Z.leb_le in C. destruct C as ((((C1 & C2) & C3) & _) & C).
  assert (Forall (fun f => form_value s x f <= 0) forms) as V.
  { unfold forms. apply Forall_map. eapply Forall_impl; [| exact H]. intros c Hc.
    exact (form_sound s model x is_readable allows_x rs c scores Hc). }
  pose proof (combined_sound s x forms V ls (length meanings) C1) as P.
  set (f := combined ls forms (length meanings)) in *. clearbody f.
  destruct (sum_least s D (axes_of s D) b shares (gathered (length (features s)) (fst f) meanings)) as [m |] eqn:E; [| discriminate].
  pose proof (sum_least_sound b shares _ m C2 I E) as L. rewrite total_adds_is in L by (auto using gathered_length).
  pose proof (as_long _ _ allows_x) as Lx.
  assert (forallb (fun c => match nth_error (features s) (feature_of c) with Some _ => true | None => false end) (columns s) = true) as K.
  { apply forallb_forall. intros c Ic. unfold linear_readable in is_readable. apply andb_true_iff in is_readable as [R _].
    rewrite forallb_forall in R. specialize (R c Ic). unfold feature_read in R. destruct (nth_error _ _); auto. }
  unfold meanings in L. rewrite (gathered_total s x (columns s) Lx K) in L.
  pose proof (down_below D (snd f # grain * small) _ (Qle_refl _)) as Kd.
  set (shared_part := shared _ shares (features s) x) in *.
  assert (shared_part <= largest (fun f i => weight f * delta f i) (features s) x) as Sh.
  { assert (0 <= largest (fun f i => weight f * delta f i) (features s) x) as N.
    { destruct (largest_nonnegative (fun f i => weight f * delta f i) (features s) x) as [N | N]; [exact N | rewrite N; discriminate]. }
    pose proof (shared_below _ shares (features s) x _ N (Qle_refl _) C2) as B. fold shared_part in B.
    eapply Qle_trans; [exact B |]. set (y := largest _ _ _) in *.
    assert ((fold_right Z.add 0%Z shares # grain) <= 1) as One.
    { unfold Qle. cbn [Qnum Qden]. rewrite Z.mul_1_r, Z.mul_1_l. exact C3. }
    setoid_replace y with (1 * y) at 2 by ring. apply Qmult_le_compat_r; assumption. }
  assert (theta s * (alpha s * total (fun f i => weight f * changed f i) (features s) x +
                     beta s * total (fun f i => weight f * delta f i) (features s) x + gamma s * shared_part) <=
          theta s * distance s x) as Dist.
  { apply scaled_le; [exact theta_nonnegative |]. unfold distance, distance_by.
    pose proof (scaled_le _ _ _ gamma_nonnegative Sh). lra. }
  set (far := theta s * (_ + _ + _)) in *. clearbody far. set (y := dotz _ _) in *.
  assert ((1 # weight_unit) * y + (snd f # grain * small) <= 0) as Q.
  { setoid_replace ((1 # weight_unit) * y + (snd f # grain * small)) with ((1 # grain) * ((1 # one) * y + (snd f # small))).
    - setoid_replace 0 with ((1 # grain) * 0) by ring. apply scaled_le; [discriminate | exact P].
    - rewrite Qmult_plus_distr_r, Qmult_assoc. apply Qplus_comp; [reflexivity |].
      unfold Qeq, Qmult. cbn [Qnum Qden]. ring. }
  assert (0 < inject_Z (Zpos (finer D))) as U by reflexivity.
  assert (inject_Z (m + down D (snd f # grain * small)) <= inject_Z (Zpos (finer D)) * (theta s * distance s x)) as Found.
  { rewrite inject_Z_plus. eapply Qle_trans; [apply Qplus_le_compat; [exact L | exact Kd] |].
    rewrite <- Qmult_plus_distr_r. apply scaled_le; [apply Qlt_le_weak; exact U |]. lra. }
  set (found := (m + down D (snd f # grain * small))%Z) in *. clearbody found.
  unfold theta in Found. destruct (closer_than s) as [q |].
  - apply orb_true_iff in C as [C | C].
    + apply Z.leb_le in C. rewrite Zle_Qle in C. pose proof (Qle_ceiling (inject_Z (Zpos (finer D)) * q)) as Q'.
      apply (Qmult_le_l _ _ (inject_Z (Zpos (finer D))) U). lra.
    + apply andb_true_iff in C as [W C]. apply Z.ltb_lt in C. destruct (whole_distance s D x W allows_x) as [N Whole].
      assert (inject_Z (Zpos (finer D)) == inject_Z (2 ^ 400) * inject_Z (Zpos D)) as Finer.
      { unfold finer. rewrite Pos2Z.inj_mul, inject_Z_mult. change (Zpos (Z.to_pos (2 ^ 400))) with (2 ^ 400)%Z. ring. }
      assert (inject_Z found <= inject_Z (2 ^ 400 * N)) as Below.
      { rewrite inject_Z_mult, <- Whole. rewrite Finer in Found. eapply Qle_trans; [exact Found |].
        apply Qle_lteq. right. ring. }
      rewrite <- Zle_Qle in Below. pose proof (Qle_ceiling (inject_Z (Zpos D) * q)) as Up.
      assert (0 < 2 ^ 400)%Z as Pow by (apply Z.pow_pos_nonneg; lia).
      assert (Qceiling (inject_Z (Zpos D) * q) <= N)%Z as Least.
      { assert (Qceiling (inject_Z (Zpos D) * q) - 1 < N)%Z; [| lia].
        apply (Z.mul_lt_mono_pos_l (2 ^ 400)); [exact Pow | lia]. }
      rewrite Zle_Qle in Least. assert (0 < inject_Z (Zpos D)) as UD by reflexivity.
      apply (Qmult_le_l _ _ (inject_Z (Zpos D)) UD). rewrite Whole. eapply Qle_trans; [exact Up | exact Least].
  - apply Z.ltb_lt in C. rewrite Zlt_Qlt in C. change (inject_Z 0) with 0 in C. lra.
Qed.

Lemma closes_sound open b p has part : nth has open false = true -> inside b paid -> nth_error (goal s) has = Some part ->
  Forall (may_hold s rs) part ->
  linear_closes s D (axes_of s D) meanings (map (map (form_of s model bounds)) (goal s)) open p b = true ->
  match closer_than s with Some q => q <= distance s x | None => False end.
Proof.
  intros O I Is H C. unfold linear_closes in C. destruct p; try discriminate.
  pose proof (in_opened _ _ _ _ O (map_nth_error (map (form_of s model bounds)) _ _ Is)) as Ip.
  revert parts C Ip. generalize (opened open (map (map (form_of s model bounds)) (goal s))) as forms.
  induction forms as [| first forms IH]; [contradiction |]. intros [| given parts] C Ip; cbn [all_closed] in C;
    try discriminate. apply andb_true_iff in C as [C1 C2]. destruct Ip as [-> | Ip]; [| eapply IH; eauto].
  exact (part_closed_sound b part given I C1 H).
Qed.
End Sound.

(** ** No overflow *)

Open Scope Z_scope.

Lemma size_bound e rest l : Permutation (terms e ++ rest) l -> size (terms e) <= size l.
Proof.
  intro P. rewrite <- (size_permuted _ _ P), size_app. pose proof (size_nonnegative rest). lia.
Qed.

Lemma sum_below e r top : gives 53 (2 ^ 52) e r -> size (terms e) < top -> 0 <= top ->
  2 * Z.of_nat (length (terms e)) * Z.of_nat (length (terms e)) <= 2 ^ 53 ->
  Z.abs r * whole <= 2 * top + 2 ^ 79 * whole.
Proof.
  intros G S T K. pose proof (sum_error 53 (2 ^ 52) ltac:(lia) ltac:(lia) e _ r G (Permutation_refl _) K) as E.
  cbv zeta in E. pose proof (exact_below_size (terms e)) as X. pose proof (size_nonnegative (terms e)) as N.
  set (k := Z.of_nat (length (terms e))) in *. assert (0 <= k) by (unfold k; lia). clearbody k.
  pose proof whole_positive as W. set (a := exact (terms e)) in *. set (z := size (terms e)) in *. clearbody a z.
  assert (2 * k <= 2 ^ 27) as Small.
  { destruct (Z.le_gt_cases (2 * k) (2 ^ 27)) as [L | L]; [exact L | exfalso].
    assert (2 ^ 27 * 2 ^ 27 < 2 * k * (2 * k)) by (apply Z.mul_lt_mono_nonneg; lia).
    change (2 ^ 27 * 2 ^ 27) with (2 * 2 ^ 53) in *. lia. }
  change (2 ^ 27) with 134217728 in *. change (2 ^ 53) with 9007199254740992 in *.
  change (2 ^ 52) with 4503599627370496 in *. change (2 ^ 79) with (134217728 * 4503599627370496).
  set (w := whole) in *. clearbody w.
  assert (k * z <= (9007199254740992 - k) * z) by (apply Z.mul_le_mono_nonneg_r; lia).
  assert (Z.abs (r * w - a) <= z + 2 * k * (4503599627370496 * w)) as B.
  { apply (Z.mul_le_mono_pos_l _ _ (9007199254740992 - k)); lia. }
  assert (2 * k * (4503599627370496 * w) <= 134217728 * (4503599627370496 * w)) by (apply Z.mul_le_mono_nonneg_r; lia).
  replace (Z.abs r * w) with (Z.abs (r * w)) by (rewrite Z.abs_mul, (Z.abs_eq w) by lia; reflexivity). lia.
Qed.

Theorem linear_formed_finite s D model x : linear_formed s D model = true -> Forall2 allows (features s) x ->
  never_overflows s model x.
Proof.
  unfold linear_formed, sound_statement. rewrite !andb_true_iff. intros ((((((S & _) & _) & C) & R) & _) & O) A. split.
  - intros c f Ic Ef. rewrite forallb_forall in C. apply (finite_column (features s) f c); auto.
    destruct (at_axis s D x S A (feature_of c) f Ef) as (_ & _ & H & _). exact H.
  - intros out e rest r Io G P. rewrite forallb_forall in O. specialize (O out Io). unfold sound_output in O.
    apply andb_true_iff in O as [_ O]. apply Z.ltb_lt in O.
    pose proof (size_within _ (units (snd out)) (inputs_sound s x out R A)) as W.
    pose proof (reach_above s x out) as B.
    set (bounds := map (bounds_up s) (columns s)) in *. set (l := written (inputs s x out) (units (snd out))) in *.
    assert (size l < 2 ^ 3170) as Sl.
    { pose proof (Qle_trans _ _ _ W B) as T. unfold product, fine_unit, Qle in T. cbn [Qnum Qden] in T.
      rewrite !Pos2Z.inj_mul in T. change (Zpos small) with (2 ^ 1200) in T. rewrite one_whole in T.
      pose proof whole_positive. change whole with (2 ^ 1074) in *.
      assert (size l * 2 ^ 1200 <= whole_reach bounds out * 2 ^ 1074).
      { apply (Z.mul_le_mono_pos_r _ _ (2 ^ 1074)); [assumption |]. lia. }
      assert (whole_reach bounds out * 2 ^ 1074 < 2 ^ 3296 * 2 ^ 1074) by (apply Z.mul_lt_mono_pos_r; assumption).
      rewrite <- Z.pow_add_r in * by lia. replace (3296 + 1074) with (3170 + 1200) in * by lia.
      rewrite Z.pow_add_r in * by lia. assert (0 < 2 ^ 1200) by (apply Z.pow_pos_nonneg; lia).
      apply (Z.mul_lt_mono_pos_r (2 ^ 1200)); [assumption |]. lia. }
    pose proof (size_bound e rest l P) as Se.
    assert (2 * Z.of_nat (length (terms e)) * Z.of_nat (length (terms e)) <= 2 ^ 53) as K.
    { destruct (few_columns s x R out) as [_ K]. apply Permutation_length in P. rewrite app_length in P.
      unfold l, written in P. cbn [length] in P. rewrite map_length in P.
      set (k := Z.of_nat (length (terms e))). set (n := Z.of_nat (Datatypes.S (length (inputs s x out)))) in *.
      assert (0 <= k <= n) by (unfold k, n; lia). assert (k * k <= n * n) by (apply Z.mul_le_mono_nonneg; lia). lia. }
    assert (0 < 2 ^ 3170) as T0 by (apply Z.pow_pos_nonneg; lia).
    pose proof (sum_below e r (2 ^ 3170) G ltac:(lia) ltac:(lia) K) as Z1. pose proof whole_positive as W0.
    assert (2 * 2 ^ 3170 = 2 ^ 2097 * whole) as E1 by (vm_compute; reflexivity).
    assert (2 ^ 2097 + 2 ^ 79 < largest_float64) as E2 by (vm_compute; reflexivity).
    assert (Z.abs r <= 2 ^ 2097 + 2 ^ 79); [| lia]. apply (Z.mul_le_mono_pos_r _ _ whole W0). lia.
Qed.

Theorem linear_check_sound s model c : linear_check s model c = true -> linear_claim s model.
Proof.
  unfold linear_check, linear_claim. rewrite andb_true_iff. intros [W C] x A.
  split; [eapply linear_formed_finite; [eauto | apply A] |]. intros (rs & part & Scores & Ip & Hold).
  unfold linear_formed in W. rewrite !andb_true_iff in W. destruct W as ((((W & _) & R) & Al) & _). apply Qle_bool_iff in Al.
  apply In_nth_error in Ip as (has & Is). assert (has < length (goal s))%nat as Has by (apply nth_error_Some; congruence).
  apply (check_tree_sound s (cost_unit c) bool _ _ (fun _ => True) true (proof_of c) x has W A Has Logic.I) in C; [exact C | | discriminate].
  intros Nearer _ _ open p b _ O I Closed.
  unfold sound_statement in W. rewrite !andb_true_iff in W. destruct W as ((S & G) & _). apply Qle_bool_iff in G.
  pose proof (closes_sound s (cost_unit c) x S (proj1 A) Al G model R rs Scores open b p has part O I Is Hold Closed) as K.
  destruct (closer_than s) as [q |]; [exact (Qlt_not_le _ _ Nearer K) | exact K].
Qed.

(** ** Witnesses *)

Lemma exact_is l : exact l = fold_right Z.add 0 (map exact_term l).
Proof. induction l; simpl; congruence. Qed.

Lemma size_is l : size l = fold_right (fun v t => Z.abs v + t) 0 (map exact_term l).
Proof. induction l; simpl; congruence. Qed.

Lemma products_are s x out : forallb (sound_column (features s)) (columns s) = true ->
  map exact_term (written (inputs s x out) (units (snd out))) = products out (map (fed_at s x) (columns s)).
Proof.
  intro C. unfold written, products, inputs, weights_of. cbn [map exact_term]. f_equal. revert C. generalize (columns s) as cs.
  generalize (fst out) as ws. induction ws as [| w ws IH]; intros [| c cs] C; cbn [combine map]; auto.
  cbn [forallb] in C. apply andb_true_iff in C as [C1 C]. f_equal; [| apply IH; exact C].
  unfold input_of, fed_at, feature_read. destruct (nth_error (features s) (feature_of c)) as [f |] eqn:E; cbn [factor fed exact_term fst snd]; auto.
  rewrite column_fast_is_column; auto. eapply sound_divides; eauto.
Qed.

Lemma score_at_sound s x out r : linear_readable s = true -> forallb (sound_column (features s)) (columns s) = true ->
  float_score s x out r -> let e := score_at (map (fed_at s x) (columns s)) out in Z.abs (r * whole - fst e) <= snd e.
Proof.
  intros R C (e & G & P). cbv zeta. unfold score_at. rewrite <- (products_are s x out C), <- exact_is, <- size_is, map_length.
  cbn [fst snd]. set (l := written (inputs s x out) (units (snd out))) in *.
  assert (length l = Datatypes.S (length (inputs s x out))) as Len by (unfold l, written; simpl; rewrite map_length; reflexivity).
  destruct (few_columns s x R out) as [K1 K2]. rewrite <- Len in K1, K2.
  pose proof (sum_error 53 (2 ^ 52) ltac:(lia) ltac:(lia) e l r G P K2) as B. cbv zeta in B.
  set (k := Z.of_nat (length l)) in *. set (U := 2 ^ 53) in *. clearbody k.
  assert (k < U) as KU by (assert (1 * k <= k * k) by (apply Z.mul_le_mono_nonneg_r; lia); lia).
  set (y := 2 * k * (2 ^ 52 * whole)) in *.
  assert (Z.abs (r * whole - exact l) - y <= k * size l / (U - k)); [| lia].
  apply Z.div_le_lower_bound; [lia |]. rewrite Z.mul_sub_distr_l. lia.
Qed.

Lemma certain_gap s x model rs c : linear_readable s = true -> forallb (sound_column (features s)) (columns s) = true ->
  Forall2 (float_score s x) model rs ->
  certainly_holds s (map (score_at (map (fed_at s x) (columns s))) model) c = true -> must_hold s rs c.
Proof.
  intros R C F H. unfold certainly_holds in H. cbv zeta in H. apply Z.ltb_lt in H.
  set (scores := map (score_at (map (fed_at s x) (columns s))) model) in *.
  assert (forall side,
    Z.abs (match side with Some k => nth k rs 0 | None => 0 end * whole -
           fst (match side with Some k => nth k scores (0, 0) | None => (0, 0) end))
    <= snd (match side with Some k => nth k scores (0, 0) | None => (0, 0) end)) as At.
  { intros [k |]; [| discriminate]. unfold scores. clear - R C F. revert k.
    induction F as [| out r outs rs Sc F IH]; intros [| k]; cbn [map nth]; try discriminate; auto.
    exact (score_at_sound s x out r R C Sc). }
  pose proof (At (plus c)) as P. pose proof (At (minus c)) as M. pose proof whole_positive as W.
  assert (units (than c) + Z.max 0 (squash s) * 2 ^ 1021 < gap rs c) as K.
  { apply (Z.mul_lt_mono_pos_r whole); [exact W |]. unfold gap. cbv zeta. rewrite Z.mul_sub_distr_r. lia. }
  assert (0 < 2 ^ 1021) as T by (apply Z.pow_pos_nonneg; lia). unfold must_hold. set (t := 2 ^ 1021) in *. clearbody t.
  assert (squash s * t <= Z.max 0 (squash s) * t) by (apply Z.mul_le_mono_nonneg_r; lia).
  assert (0 <= Z.max 0 (squash s) * t) by (apply Z.mul_nonneg_nonneg; lia).
  destruct (strict c || (0 <? squash s)); lia.
Qed.

Theorem linear_witness_sound s D model x d : linear_formed s D model = true -> linear_witness s model x d = true ->
  linear_real s model x d.
Proof.
  intros W C. unfold linear_witness in C. cbv zeta in C. apply andb_true_iff in C as [There G].
  apply is_there_sound in There as (A & Same & Far). pose proof (linear_formed_finite s D model x W (proj1 A)) as Finite.
  unfold linear_formed in W. rewrite !andb_true_iff in W. destruct W as ((((_ & Cols) & R) & _) & _).
  repeat split; try apply A; try apply Finite; auto.
  intros rs F. rewrite existsb_exists in G. destruct G as (part & I & G). exists part. split; [exact I |].
  apply Forall_forall. rewrite forallb_forall in G. intros c Ic. exact (certain_gap s x model rs c R Cols F (G c Ic)).
Qed.

Theorem linear_certificate_sound s model c witness : linear_accepts s model c witness = true ->
  linear_claim s model /\ match witness with Some (x, d) => linear_real s model x d | None => True end.
Proof.
  unfold linear_accepts. rewrite andb_true_iff. intros [W C]. split; [exact (linear_check_sound s model c C) |].
  destruct witness as [[x d] |]; auto. apply (linear_witness_sound s (cost_unit c)); auto.
  unfold linear_check in C. apply andb_true_iff in C. tauto.
Qed.
