(** * The columns of a model: what it is given, and where a threshold cuts a grid

    Rounding, every operation of a chain and the cast are monotone, so a column of a grid rises or falls along the whole
    axis; a threshold whose test was made at two neighbouring indices cuts it, and a chain that does not overflow at both
    ends of the axis overflows nowhere.

    Main theorems: [cut_sound], [finite_column]. *)

From Coq Require Import ZArith List Bool Lia.
From Mace Require Import Rounding Ensemble CutTree Costs.
Import ListNotations.
Open Scope Z_scope.

(** ** Faster functions with the same values *)

Definition given_fast (k : kind) (i : Z) : Z :=
  match k with
  | Step _ d _ => round_fast 0 53 (Z.shiftl (place k 0 i) 1074) (Zpos d)
  | Float64 | Float32 => place k 0 i
  | Nominal | Ordinal _ => Z.shiftl i 1074
  end.

Definition operate_fast (v : Z) (o : operation) : Z :=
  match o with
  | Add x => round_fast 0 53 (v + units x) 1
  | Subtract x => round_fast 0 53 (v - units x) 1
  | Multiply x => round_fast 0 53 (v * units x) (2 ^ 1074)
  | Divide x => round_fast 0 53 (Z.sgn (units x) * Z.shiftl v 1074) (Z.abs (units x))
  end.

Definition given_single_fast (k : kind) (i : Z) : Z :=
  round_fast 925 24 (Z.shiftl (place k 0 i) (1074 - shift k)) (Zpos (denominator k)).

Definition column_fast (f : feature) (c : column) (i : Z) : Z :=
  match c with
  | Table _ values => units (nth (Z.to_nat i) values (0, 0))
  | Number _ operations if_absent =>
      match if_absent, is_absent f i with
      | Some x, true => units x
      | _, _ => fold_left operate_fast operations (given_fast (kind_of f) i)
      end
  | Single _ if_absent =>
      match if_absent, is_absent f i with Some x, true => units x | _, _ => given_single_fast (kind_of f) i end
  end.

Definition cast_fast (s : statement) (v : Z) : Z :=
  if cast_to_float32 s then saturate (round_fast 925 24 v 1) else v.

Definition passes_fast (s : statement) (t : test) (v : Z) : bool :=
  match t with
  | Below threshold => if test_is_strict s then cast_fast s v <? units threshold else cast_fast s v <=? units threshold
  | Member categories => let seen := cast_fast s v in existsb (fun k => seen =? Z.shiftl k 1074) categories
  end.

(** ** What is checked of a column, and of a cut *)

Definition divides (o : operation) : bool := match o with Divide x => negb (units x =? 0) | _ => true end.
Definition turns (o : operation) : bool := match o with Multiply x | Divide x => units x <? 0 | _ => false end.
Definition chain_falls (l : list operation) : bool := fold_right (fun o b => xorb (turns o) b) false l.
Definition falls (c : column) : bool := match c with Number _ l _ => chain_falls l | _ => false end.

Definition absent_is_beyond (f : feature) (c : column) (if_absent : option float) (upper : Z) : bool :=
  match absent f with
  | Some (m, _) =>
      (upper <? m) ||
      match if_absent with
      | Some x => (upper =? m) && (Z.abs (units x) <? largest_float64) &&
                  (if falls c then units x <=? column_at f c (m - 1) else column_at f c (m - 1) <=? units x)
      | None => false
      end
  | None => true
  end.

(** The last number of a grid. *)
Definition last_number (f : feature) (upper : Z) : Z := match absent f with Some (m, _) => Z.min upper (m - 1) | None => upper end.

Definition sound_column (fs : list feature) (c : column) : bool :=
  match nth_error fs (feature_of c) with
  | None => false
  | Some f =>
      match c, domain_of f with
      | Table _ values, Among mask => (0 <=? mask) && forallb (fun v => Z.abs (units v) <? largest_float64) values
      | Number _ l if_absent, Between lower upper =>
          grid_kind (kind_of f) && forallb divides l && (lower <=? last_number f upper) &&
          finite_chain (given (kind_of f) lower) l && finite_chain (given (kind_of f) (last_number f upper)) l &&
          absent_is_beyond f c if_absent upper
      | Single _ if_absent, Between lower upper =>
          grid_kind (kind_of f) && (lower <=? last_number f upper) &&
          (Z.abs (given_single (kind_of f) lower) <? largest_float32) &&
          (Z.abs (given_single (kind_of f) (last_number f upper)) <? largest_float32) &&
          absent_is_beyond f c if_absent upper &&
          match if_absent with Some x => Z.abs (units x) <? largest_float32 | None => true end
      | _, _ => false
      end
  end.

(** [cut] is the last index before the answer changes. *)
Definition cut_holds (s : statement) (threshold : float) (f : feature) (c : column) (lower upper cut : Z) : bool :=
  (lower - 1 <=? cut) && (cut <=? upper) &&
  ((cut <? lower) || xorb (falls c) (passes_fast s (Below threshold) (column_fast f c cut))) &&
  ((upper <=? cut) || negb (xorb (falls c) (passes_fast s (Below threshold) (column_fast f c (cut + 1))))).

(** ** Proofs *)

Lemma given_fast_is_given k i : given_fast k i = given k i.
Proof. destruct k; simpl; auto. apply round_fast_is_round; lia. Qed.

Lemma operate_fast_is_operate v o : divides o = true -> operate_fast v o = operate v o.
Proof.
  destruct o; simpl; intro D; apply round_fast_is_round; lia.
Qed.

Lemma fold_left_ext {A B} (f g : A -> B -> A) l : (forall a b, In b l -> f a b = g a b) ->
  forall a, fold_left f l a = fold_left g l a.
Proof.
  induction l as [| b l IH]; simpl; intros E a; auto. rewrite E by auto. apply IH. auto.
Qed.

Lemma column_fast_is_column f c i : match c with Number _ l _ => forallb divides l = true | _ => True end ->
  column_fast f c i = column_at f c i.
Proof.
  destruct c as [j values | j l x | j x]; simpl; intro D; auto.
  - assert (fold_left operate_fast l (given_fast (kind_of f) i) = fold_left operate l (given (kind_of f) i)) as E.
    { rewrite given_fast_is_given. apply fold_left_ext. intros a b I. apply operate_fast_is_operate.
      rewrite forallb_forall in D. auto. }
    rewrite E. reflexivity.
  - assert (given_single_fast (kind_of f) i = given_single (kind_of f) i) as E; [| rewrite E; reflexivity].
    unfold given_single_fast, given_single. apply round_fast_is_round; lia.
Qed.

Lemma cast_fast_is_cast s v : cast_fast s v = cast s v.
Proof. unfold cast_fast, cast. rewrite round_fast_is_round by lia. reflexivity. Qed.

Lemma passes_fast_is_passes s t v : passes_fast s t v = passes s t v.
Proof. destruct t; simpl; rewrite cast_fast_is_cast; reflexivity. Qed.

Lemma operate_monotone v w o : divides o = true -> v <= w ->
  if turns o then operate w o <= operate v o else operate v o <= operate w o.
Proof.
  assert (0 < 2 ^ 1074) as P by (apply Z.pow_pos_nonneg; lia).
  destruct o as [x | x | x | x]; simpl; intros D L.
  - apply round_monotone; lia.
  - apply round_monotone; lia.
  - destruct (Z.ltb_spec (units x) 0); apply round_monotone; try lia; nia.
  - apply negb_true_iff, Z.eqb_neq in D. rewrite !Z.shiftl_mul_pow2 by lia.
    destruct (Z.ltb_spec (units x) 0); [rewrite (Z.sgn_neg (units x)) by lia | rewrite (Z.sgn_pos (units x)) by lia];
      apply round_monotone; try lia; nia.
Qed.

Lemma chain_monotone l : forallb divides l = true -> forall v w, v <= w ->
  if chain_falls l then fold_left operate l w <= fold_left operate l v
  else fold_left operate l v <= fold_left operate l w.
Proof.
  induction l as [| o l IH]; simpl; intros D v w L; [exact L |].
  apply andb_true_iff in D as [Do Dl]. pose proof (operate_monotone v w o Do L) as M.
  destruct (turns o); simpl.
  - specialize (IH Dl _ _ M). destruct (chain_falls l); exact IH.
  - specialize (IH Dl _ _ M). destruct (chain_falls l); exact IH.
Qed.

Lemma finite_between l : forallb divides l = true -> forall v u w, (v <= u <= w \/ w <= u <= v) ->
  finite_chain v l = true -> finite_chain w l = true -> finite_chain u l = true.
Proof.
  induction l as [| o l IH]; simpl; intros D v u w B Fv Fw.
  - rewrite andb_true_r, Z.ltb_lt in *. lia.
  - apply andb_true_iff in D as [Do Dl]. rewrite andb_true_iff, Z.ltb_lt in *. destruct Fv as [Av Fv], Fw as [Aw Fw].
    split; [lia |]. apply (IH Dl (operate v o) _ (operate w o)); auto.
    destruct B as [[B C] | [B C]]; pose proof (operate_monotone _ _ o Do B); pose proof (operate_monotone _ _ o Do C);
      destruct (turns o); lia.
Qed.

Lemma given_single_monotone k i j : grid_kind k = true -> i <= j -> given_single k i <= given_single k j.
Proof.
  intros G I. unfold given_single. apply round_monotone; try lia.
  assert (0 <= 1074 - shift k) by (destruct k; simpl; lia).
  rewrite !Z.shiftl_mul_pow2 by lia. apply Z.mul_le_mono_nonneg_r; [apply Z.pow_nonneg; lia |].
  apply place_monotone; auto.
Qed.

(** The numbers of a column, without what it is given for "missing". *)
Definition number_at (f : feature) (c : column) (i : Z) : Z :=
  match c with
  | Table _ _ => 0
  | Number _ l _ => fold_left operate l (given (kind_of f) i)
  | Single _ _ => given_single (kind_of f) i
  end.

Lemma number_monotone fs f c lower upper i j : nth_error fs (feature_of c) = Some f -> sound_column fs c = true ->
  domain_of f = Between lower upper -> i <= j ->
  if falls c then number_at f c j <= number_at f c i else number_at f c i <= number_at f c j.
Proof.
  unfold sound_column. intros -> S D L. rewrite D in S. destruct c as [k values | k l x | k x]; simpl; [discriminate | |].
  - rewrite !andb_true_iff in S. destruct S as (((((G & Dl) & _) & _) & _) & _).
    apply chain_monotone; auto. apply given_monotone; auto.
  - rewrite !andb_true_iff in S. apply given_single_monotone; tauto.
Qed.

Lemma column_is_number f c i : is_absent f i = false ->
  match c with Table _ _ => False | _ => True end -> column_at f c i = number_at f c i.
Proof. intros A N. destruct c as [| j l [x |] | j [x |]]; simpl; rewrite ?A; tauto. Qed.

Lemma column_monotone fs f c lower upper i j : nth_error fs (feature_of c) = Some f -> sound_column fs c = true ->
  domain_of f = Between lower upper -> lower <= i -> i <= j -> j <= upper ->
  if falls c then column_at f c j <= column_at f c i else column_at f c i <= column_at f c j.
Proof.
  intros N S D Lo L Hi. pose proof (number_monotone fs f c lower upper i j N S D L) as M.
  assert (match c with Table _ _ => False | _ => True end) as Grid.
  { unfold sound_column in S. rewrite N, D in S. destruct c; [discriminate | auto ..]. }
  assert (exists x, absent_is_beyond f c x upper = true /\ forall m, is_absent f m = true ->
    forall v, x = Some v -> column_at f c m = units v) as (x & B & At).
  { unfold sound_column in S. rewrite N, D in S. destruct c as [| k l x | k x]; [contradiction | |];
      exists x; rewrite !andb_true_iff in S; (split; [tauto |]); intros m A v ->; simpl; rewrite A; reflexivity. }
  unfold absent_is_beyond in B. unfold is_absent in At. pose proof (column_is_number f c) as Number. unfold is_absent in Number.
  destruct (absent f) as [[m cost] |]; [| rewrite !Number by auto; exact M].
  apply orb_true_iff in B as [B | B].
  - apply Z.ltb_lt in B. rewrite !Number; auto; apply Z.eqb_neq; lia.
  - destruct x as [v |]; [| discriminate]. rewrite !andb_true_iff, Z.eqb_eq in B. destruct B as ((-> & _) & B).
    destruct (Z.eq_dec i m) as [-> | Ni].
    { assert (j = m) as -> by lia. destruct (falls c); lia. }
    destruct (Z.eq_dec j m) as [-> | Nj].
    2: { rewrite !Number; auto; apply Z.eqb_neq; lia. }
    rewrite (At m (Z.eqb_refl m) v eq_refl).
    assert (i <= m - 1) as Below by lia.
    pose proof (number_monotone fs f c lower m i (m - 1) N S D Below) as M'.
    rewrite (Number i) by (auto; apply Z.eqb_neq; lia). rewrite (Number (m - 1)) in B by (auto; apply Z.eqb_neq; lia).
    destruct (falls c); apply Z.leb_le in B; lia.
Qed.

Lemma sound_divides fs f c : nth_error fs (feature_of c) = Some f -> sound_column fs c = true ->
  match c with Number _ l _ => forallb divides l = true | _ => True end.
Proof.
  unfold sound_column. intros -> S. destruct c as [| k l x |]; auto. destruct (domain_of f); [| discriminate].
  rewrite !andb_true_iff in S. tauto.
Qed.

Theorem cut_sound s fs f c threshold lower upper cut i :
  nth_error fs (feature_of c) = Some f -> sound_column fs c = true -> domain_of f = Between lower upper ->
  cut_holds s threshold f c lower upper cut = true -> lower <= i <= upper ->
  passes s (Below threshold) (column_at f c i) = xorb (falls c) (i <=? cut).
Proof.
  intros N S D H I. pose proof (sound_divides fs f c N S) as Div.
  unfold cut_holds in H. rewrite !passes_fast_is_passes, !column_fast_is_column in H by exact Div.
  rewrite !andb_true_iff, !orb_true_iff, !Z.leb_le, Z.ltb_lt, negb_true_iff in H. destruct H as (((Lo & Hi) & H1) & H2).
  destruct (Z.leb_spec i cut) as [L | L].
  - destruct H1 as [H1 | H1]; [lia |].
    pose proof (column_monotone fs f c lower upper i cut N S D ltac:(lia) L ltac:(lia)) as M.
    destruct (falls c); cbn [xorb] in *.
    + destruct (passes s (Below threshold) (column_at f c i)) eqn:P; auto.
      rewrite (passes_monotone s threshold _ _ M P) in H1. discriminate.
    + destruct (passes s (Below threshold) (column_at f c cut)) eqn:P; [| discriminate].
      exact (passes_monotone s threshold _ _ M P).
  - destruct H2 as [H2 | H2]; [lia |].
    pose proof (column_monotone fs f c lower upper (cut + 1) i N S D ltac:(lia) ltac:(lia) ltac:(lia)) as M.
    destruct (falls c); cbn [xorb] in *.
    + destruct (passes s (Below threshold) (column_at f c (cut + 1))) eqn:P; [| discriminate].
      exact (passes_monotone s threshold _ _ M P).
    + destruct (passes s (Below threshold) (column_at f c i)) eqn:P; auto.
      rewrite (passes_monotone s threshold _ _ M P) in H2. discriminate.
Qed.

Theorem finite_column fs f c i : nth_error fs (feature_of c) = Some f -> sound_column fs c = true -> allows f i ->
  finite_at f c i = true.
Proof.
  intros N S A. pose proof S as S'. unfold sound_column in S'. rewrite N in S'. unfold allows in A.
  destruct c as [k values | k l x | k x]; destruct (domain_of f) as [lower upper | mask] eqn:D; try discriminate.
  - simpl. apply andb_true_iff in S' as [_ S']. rewrite forallb_forall in S'.
    destruct (nth_in_or_default (Z.to_nat i) values (0, 0)) as [J | ->]; [auto |]. vm_compute. reflexivity.
  - rewrite !andb_true_iff, Z.leb_le in S'. destruct S' as (((((G & Dl) & E) & F1) & F2) & B).
    simpl. unfold absent_is_beyond, is_absent, last_number in *.
    assert (forall i, lower <= i <= last_number f upper -> finite_chain (given (kind_of f) i) l = true) as F.
    { intros n I. apply (finite_between l Dl (given (kind_of f) lower) _ (given (kind_of f) (last_number f upper))); auto.
      left. split; apply given_monotone; auto; lia. }
    unfold last_number in F. destruct (absent f) as [[m cost] |].
    + apply orb_true_iff in B as [B | B].
      * apply Z.ltb_lt in B. assert (i =? m = false) as -> by (apply Z.eqb_neq; lia).
        destruct x; apply F; lia.
      * destruct x as [v |]; [| discriminate]. rewrite !andb_true_iff, Z.eqb_eq in B. destruct B as ((-> & B) & _).
        destruct (Z.eqb_spec i m); [exact B | apply F; lia].
    + destruct x; apply F; lia.
  - rewrite !andb_true_iff, !Z.ltb_lt, Z.leb_le in S'. destruct S' as (((((G & E) & F1) & F2) & B) & X).
    simpl. unfold absent_is_beyond, is_absent, last_number in *.
    assert (forall i, lower <= i <= last_number f upper -> Z.abs (given_single (kind_of f) i) <? largest_float32 = true) as F.
    { intros n I. apply Z.ltb_lt. pose proof (given_single_monotone (kind_of f) lower n G ltac:(lia)).
      pose proof (given_single_monotone (kind_of f) n (last_number f upper) G ltac:(lia)). unfold last_number in *. lia. }
    unfold last_number in F. destruct (absent f) as [[m cost] |].
    + apply orb_true_iff in B as [B | B].
      * apply Z.ltb_lt in B. assert (i =? m = false) as -> by (apply Z.eqb_neq; lia).
        destruct x; apply F; lia.
      * destruct x as [v |]; [| discriminate]. rewrite !andb_true_iff, Z.eqb_eq in B. destruct B as ((-> & B) & _).
        destruct (Z.eqb_spec i m); [exact X | apply F; lia].
    + destruct x; apply F; lia.
Qed.
