(** * Rules and excluded regions over a box

    Interval arithmetic over a box holds every value of an expression at the box's points (where a level is compared with
    numbers, all its values are kept); a region holds a box when it holds the box's farthest corners.

    Relates to: the leaves "rule" and "avoid" of FORMAT.md. Main theorems: [rule_is_broken], [region_holds]. *)

From Coq Require Import ZArith QArith Qminmax Qabs List Bool Lia Lqa.
From Mace Require Import Ensemble CutTree Costs.
Import ListNotations.
Open Scope Z_scope.

(** ** What is checked *)

(** The indices of a mask, of the levels that are allowed. *)
Definition members (full mask : Z) : list Z :=
  filter (Z.testbit mask) (map Z.of_nat (seq 0 (Z.to_nat (Z.log2 full + 1)))).

(** The values that an expression may have: unknown, or an interval and perhaps all of them. *)
Inductive spread := Unknown | Known (low high : Q) (all : option (list Q)).

Definition greatest (q : Q) (l : list Q) : Q := fold_right Qmax q l.
Definition least (q : Q) (l : list Q) : Q := fold_right Qmin q l.

Definition feature_spread (f : feature) (r : range) : spread :=
  match domain_of f, r with
  | Between _ upper, Interval low high _ _ =>
      if grid_kind (kind_of f) && match absent f with Some (m, _) => upper <? m | None => true end
      then Known (value f low) (value f high) None else Unknown
  | Among full, Levels mask _ _ =>
      match map (value f) (members full mask) with
      | [] => Unknown
      | q :: l => Known (least q l) (greatest q l) (Some (q :: l))
      end
  | _, _ => Unknown
  end.

Definition plain (a : spread) : spread := match a with Known l h _ => Known l h None | Unknown => Unknown end.

Definition lift (f : Q -> Q -> Q) (a b : spread) : spread :=
  match a, b with Known l h _, Known k g _ => Known (Qred (f l k)) (Qred (f h g)) None | _, _ => Unknown end.

Definition opposite (a : spread) : spread :=
  match a with Known l h _ => Known (- h) (- l) None | Unknown => Unknown end.

Definition times (q : Q) (a : spread) : spread :=
  match a with
  | Known l h _ => if Qle_bool 0 q then Known (Qred (q * l)) (Qred (q * h)) None
                   else Known (Qred (q * h)) (Qred (q * l)) None
  | Unknown => Unknown
  end.

Definition absolute (a : spread) : spread :=
  match a with
  | Known l h _ => if Qle_bool 0 l then Known l h None else if Qle_bool h 0 then Known (- h) (- l) None
                   else Known 0 (Qmax (- l) h) None
  | Unknown => Unknown
  end.

(** Whether a condition may be false, and whether it may be true. *)
Definition verdicts := (bool * bool)%type.
Definition Qlt_bool (a b : Q) : bool := negb (Qle_bool b a).

Definition compare_less (a b : spread) : verdicts :=
  match a, b with Known l h _, Known k g _ => (Qle_bool k h, Qlt_bool l g) | _, _ => (true, true) end.

Definition compare_at_most (a b : spread) : verdicts :=
  match a, b with Known l h _, Known k g _ => (Qlt_bool k h, Qle_bool l g) | _, _ => (true, true) end.

Definition may_meet (a b : spread) : bool :=
  match a, b with
  | Known _ _ (Some u), Known _ _ (Some v) => existsb (fun q => existsb (Qeq_bool q) v) u
  | Known _ _ (Some u), Known k g None => existsb (fun q => Qle_bool k q && Qle_bool q g) u
  | Known l h None, Known _ _ (Some v) => existsb (fun q => Qle_bool l q && Qle_bool q h) v
  | _, _ => true
  end.

Definition compare_equal (a b : spread) : verdicts :=
  match a, b with
  | Known l h _, Known k g _ =>
      if Qlt_bool g l || Qlt_bool h k then (true, false)
      else if Qeq_bool l h && Qeq_bool k g && Qeq_bool l k then (false, true)
      else (true, may_meet a b)
  | _, _ => (true, true)
  end.

Definition turned (v : verdicts) : verdicts := (snd v, fst v).

Section Box.
Variable fs : list feature.
Variable b : list range.

Fixpoint number_spread (e : number) : spread :=
  match e with
  | Value j => match nth_error fs j, nth_error b j with Some f, Some r => feature_spread f r | _, _ => Unknown end
  | Constant q => Known q q (Some [q])
  | Sum l => plain (numbers_spread (lift Qplus) l)
  | Minus a c => lift Qplus (number_spread a) (opposite (number_spread c))
  | Opposite a => opposite (number_spread a)
  | Times q a => times q (number_spread a)
  | Absolute a => absolute (number_spread a)
  | Least l => plain (numbers_spread (lift Qmin) l)
  | Greatest l => plain (numbers_spread (lift Qmax) l)
  end
with numbers_spread (join : spread -> spread -> spread) (l : numbers) : spread :=
  match l with One a => number_spread a | More a l => join (number_spread a) (numbers_spread join l) end.

Fixpoint possible (c : condition) : verdicts :=
  match c with
  | Always => (false, true)
  | Never => (true, false)
  | Less a c => compare_less (number_spread a) (number_spread c)
  | AtMost a c => compare_at_most (number_spread a) (number_spread c)
  | Equal a c => compare_equal (number_spread a) (number_spread c)
  | Unequal a c => turned (compare_equal (number_spread a) (number_spread c))
  | Both l => possible_all l
  | Either l => possible_any l
  | Not a => turned (possible a)
  end
with possible_all (l : conditions) : verdicts :=
  match l with
  | NoMore => (false, true)
  | Also a l => let v := possible a in let w := possible_all l in (fst v || fst w, snd v && snd w)
  end
with possible_any (l : conditions) : verdicts :=
  match l with
  | NoMore => (true, false)
  | Also a l => let v := possible a in let w := possible_any l in (fst v && fst w, snd v || snd w)
  end.
End Box.

(** Every feature that a rule reads exists and has a number or a level at every allowed point. *)
Definition is_read (fs : list feature) (j : nat) : bool :=
  match nth_error fs j with
  | None => false
  | Some f => match domain_of f, absent f with Between _ upper, Some (m, _) => upper <? m | _, _ => true end
  end.

Fixpoint reads (fs : list feature) (e : number) : bool :=
  match e with
  | Value j => is_read fs j
  | Constant _ => true
  | Sum l | Least l | Greatest l => reads_all fs l
  | Minus a b => reads fs a && reads fs b
  | Opposite a | Times _ a | Absolute a => reads fs a
  end
with reads_all (fs : list feature) (l : numbers) : bool :=
  match l with One a => reads fs a | More a l => reads fs a && reads_all fs l end.

Fixpoint readable (fs : list feature) (c : condition) : bool :=
  match c with
  | Always | Never => true
  | Less a b | AtMost a b | Equal a b | Unequal a b => reads fs a && reads fs b
  | Both l | Either l => readable_all fs l
  | Not a => readable fs a
  end
with readable_all (fs : list feature) (l : conditions) : bool :=
  match l with NoMore => true | Also a l => readable fs a && readable_all fs l end.

(** Indices among which, for every index of the range, there is one as far from the centre or farther. *)
Definition corners (f : feature) (r : range) : list Z :=
  match domain_of f, r with
  | Among full, Levels mask _ _ => members full mask
  | _, Interval lower upper _ _ => [lower; upper]
  | _, _ => []
  end.

Definition farthest (term : feature -> Z -> Q) (f : feature) (l : list Z) : Q :=
  match map (term f) l with [] => 0%Q | q :: l => greatest q l end.

Fixpoint most_total (term : feature -> Z -> Q) (fs : list feature) (b : list range) : Q :=
  match fs, b with f :: fs, r :: b => Qred (farthest term f (corners f r) + most_total term fs b) | _, _ => 0 end.
Fixpoint most_largest (term : feature -> Z -> Q) (fs : list feature) (b : list range) : Q :=
  match fs, b with f :: fs, r :: b => Qmax (farthest term f (corners f r)) (most_largest term fs b) | _, _ => 0 end.

Definition measured (f : feature) : bool :=
  Qle_bool 0 (weight f) && Qlt_bool 0 (scale f) &&
  match domain_of f with
  | Between _ _ => grid_kind (kind_of f) && match absent f with Some _ => false | None => true end
  | Among _ => true
  end.

Definition most_distance (s : statement) (fs : list feature) (b : list range) : Q :=
  (alpha s * most_total (fun f i => weight f * changed f i) fs b +
   beta s * most_total (fun f i => weight f * delta f i) fs b +
   gamma s * most_largest (fun f i => weight f * delta f i) fs b)%Q.

Fixpoint only_point (p : list Z) (b : list range) : bool :=
  match p, b with
  | i :: p, Interval lower upper _ _ :: b => (lower =? i) && (upper =? i) && only_point p b
  | i :: p, Levels mask _ _ :: b => (0 <=? i) && (mask =? 2 ^ i) && only_point p b
  | [], [] => true
  | _, _ => false
  end.

Definition start_is_out (f : feature) (r : range) : bool :=
  match r with
  | Interval lower upper _ _ => (start f <? lower) || (upper <? start f)
  | Levels mask _ _ => negb (Z.testbit mask (start f))
  end.

Definition surely_changed (fs : list feature) (b : list range) (j : nat) : bool :=
  match nth_error fs j, nth_error b j with Some f, Some r => start_is_out f r | _, _ => false end.

Fixpoint inside_sides (l : list side) (b : list range) : bool :=
  match l, b with
  | Range low high :: l, Interval lower upper _ _ :: b => (low <=? lower) && (upper <=? high) && inside_sides l b
  | Mask own :: l, Levels mask _ _ :: b => (Z.ldiff mask own =? 0) && inside_sides l b
  | [], [] => true
  | _, _ => false
  end.

Definition holds_box (s : statement) (r : region) (b : list range) : bool :=
  match r with
  | Exactly p => only_point p b
  | Changed js => forallb (surely_changed (features s) b) js
  | Near centre radius =>
      Qle_bool 0 (alpha s) && Qle_bool 0 (beta s) && Qle_bool 0 (gamma s) && forallb measured (features s) &&
      Nat.eqb (length centre) (length (features s)) &&
      Qlt_bool (most_distance s (restarted (features s) centre) b) radius
  | InBox sides => inside_sides sides b
  end.

(** ** Proofs *)

Definition has_index (f : feature) (r : range) (i : Z) : Prop :=
  allows f i /\
  match domain_of f, r with
  | Between _ _, Interval lower upper _ _ => lower <= i <= upper
  | Among full, Levels mask _ _ => 0 <= full /\ Z.testbit mask i = true
  | _, _ => False
  end.

(** The point's indices lie in the box's ranges. *)
Definition lies (fs : list feature) (b : list range) (x : point) : Prop :=
  Forall2 (fun fr i => has_index (fst fr) (snd fr) i) (combine fs b) x /\ length fs = length b.

Lemma members_in f full mask i : domain_of f = Among full -> 0 <= full -> allows f i -> Z.testbit mask i = true ->
  In i (members full mask).
Proof.
  unfold allows. intros -> F [I T] M. apply filter_In. split; auto. apply in_map_iff. exists (Z.to_nat i).
  rewrite Z2Nat.id by lia. split; auto. apply in_seq.
  destruct (Z.le_gt_cases i (Z.log2 full)); [lia |]. rewrite Z.bits_above_log2 in T by lia. discriminate.
Qed.

Definition contains (a : spread) (v : Q) : Prop :=
  match a with
  | Unknown => True
  | Known l h all => (l <= v)%Q /\ (v <= h)%Q /\ match all with None => True | Some l => exists u, In u l /\ (u == v)%Q end
  end.

Lemma greatest_bound q l v : In v (q :: l) -> (v <= greatest q l)%Q.
Proof.
  unfold greatest. induction l as [| u l IH]; simpl.
  - intros [<- | []]. apply Qle_refl.
  - intros [<- | [<- | I]].
    + eapply Qle_trans; [apply IH; simpl; auto | apply Q.le_max_r].
    + apply Q.le_max_l.
    + eapply Qle_trans; [apply IH; simpl; auto | apply Q.le_max_r].
Qed.

Lemma least_bound q l v : In v (q :: l) -> (least q l <= v)%Q.
Proof.
  unfold least. induction l as [| u l IH]; simpl.
  - intros [<- | []]. apply Qle_refl.
  - intros [<- | [<- | I]].
    + eapply Qle_trans; [apply Q.le_min_r | apply IH; simpl; auto].
    + apply Q.le_min_l.
    + eapply Qle_trans; [apply Q.le_min_r | apply IH; simpl; auto].
Qed.

Lemma value_monotone f i j : grid_kind (kind_of f) = true -> i <= j -> (value f i <= value f j)%Q.
Proof.
  intros G L. pose proof (place_monotone (kind_of f) 0 i j G L) as P. unfold value.
  assert (forall d, (place (kind_of f) 0 i # d) <= (place (kind_of f) 0 j # d))%Q as M.
  { intro d. unfold Qle. cbn [Qnum Qden]. apply Z.mul_le_mono_nonneg_r; [lia | exact P]. }
  destruct (kind_of f); try discriminate; apply M.
Qed.

Lemma feature_contained f r i : has_index f r i -> contains (feature_spread f r) (value f i).
Proof.
  unfold has_index, feature_spread. intros [A I].
  destruct (domain_of f) as [lower upper | full] eqn:D, r as [low high l g | mask l g]; try contradiction.
  - destruct (grid_kind (kind_of f)) eqn:G; [| exact Logic.I]. cbn [andb].
    destruct (match absent f with Some _ => _ | None => _ end); [| exact Logic.I].
    simpl. repeat split; apply value_monotone; auto; lia.
  - destruct I as [F T]. pose proof (in_map (value f) _ _ (members_in f full mask i D F A T)) as M.
    destruct (map (value f) (members full mask)) as [| q m]; [contradiction |].
    split; [apply least_bound; exact M |]. split; [apply greatest_bound; exact M |].
    exists (value f i). split; [exact M | apply Qeq_refl].
Qed.

Lemma plain_contains a v : contains a v -> contains (plain a) v.
Proof. destruct a; simpl; tauto. Qed.

Lemma lift_contains f a b u v :
  (forall p q p' q', p <= p' -> q <= q' -> f p q <= f p' q')%Q ->
  contains a u -> contains b v -> contains (lift f a b) (f u v).
Proof.
  intro M. destruct a, b; cbn [contains lift]; auto. intros (A & B & _) (C & D & _). rewrite !Qred_correct. auto.
Qed.

Lemma opposite_contains a v : contains a v -> contains (opposite a) (- v)%Q.
Proof. destruct a; cbn [contains opposite]; auto. intros (A & B & _). repeat split; lra. Qed.

Lemma times_contains q a v : contains a v -> contains (times q a) (q * v)%Q.
Proof.
  destruct a; cbn [contains times]; auto. intros (A & B & _).
  destruct (Qle_bool 0 q) eqn:P; cbn [contains]; rewrite !Qred_correct.
  - apply Qle_bool_iff in P. repeat split; nra.
  - assert (q < 0)%Q. { apply Qnot_le_lt. intro H. apply Qle_bool_iff in H. congruence. } repeat split; nra.
Qed.

Lemma Qle_false a b : Qle_bool a b = false -> (b < a)%Q.
Proof. intro H. apply Qnot_le_lt. intro L. apply Qle_bool_iff in L. congruence. Qed.

Lemma Qlt_bool_false a b : Qlt_bool a b = false -> (b <= a)%Q.
Proof. unfold Qlt_bool. intro H. apply negb_false_iff in H. apply Qle_bool_iff. exact H. Qed.

Lemma Qlt_bool_true a b : Qlt_bool a b = true -> (a < b)%Q.
Proof. unfold Qlt_bool. intro H. apply negb_true_iff in H. apply Qle_false. exact H. Qed.

Lemma absolute_contains a v : contains a v -> contains (absolute a) (Qmax v (- v)).
Proof.
  destruct a as [| l h all]; cbn [contains absolute]; auto. intros (A & B & _).
  destruct (Qle_bool 0 l) eqn:P; [| destruct (Qle_bool h 0) eqn:N]; cbn [contains].
  - apply Qle_bool_iff in P. destruct (Q.max_spec v (- v)) as [[X ->] | [X ->]]; repeat split; lra.
  - apply Qle_bool_iff in N. destruct (Q.max_spec v (- v)) as [[X ->] | [X ->]]; repeat split; lra.
  - pose proof (Q.le_max_l (- l) h). pose proof (Q.le_max_r (- l) h).
    destruct (Q.max_spec v (- v)) as [[X ->] | [X ->]]; repeat split; lra.
Qed.

Definition admits (p : verdicts) (truth : bool) : Prop := if truth then snd p = true else fst p = true.

Lemma less_admits a b u v : contains a u -> contains b v -> admits (compare_less a b) (negb (Qle_bool v u)).
Proof.
  destruct a as [| l h c], b as [| k g d]; simpl; try (intros; destruct (Qle_bool v u); reflexivity).
  intros (A & B & _) (C & D & _). destruct (Qle_bool v u) eqn:E; simpl.
  - apply Qle_bool_iff in E. apply Qle_bool_iff. lra.
  - apply Qle_false in E. unfold Qlt_bool. destruct (Qle_bool g l) eqn:F; auto. apply Qle_bool_iff in F. lra.
Qed.

Lemma at_most_admits a b u v : contains a u -> contains b v -> admits (compare_at_most a b) (Qle_bool u v).
Proof.
  destruct a as [| l h c], b as [| k g d]; simpl; try (intros; destruct (Qle_bool u v); reflexivity).
  intros (A & B & _) (C & D & _). destruct (Qle_bool u v) eqn:E; simpl.
  - apply Qle_bool_iff in E. apply Qle_bool_iff. lra.
  - apply Qle_false in E. unfold Qlt_bool. destruct (Qle_bool h k) eqn:F; auto. apply Qle_bool_iff in F. lra.
Qed.

Lemma may_meet_sound a b u v : contains a u -> contains b v -> (u == v)%Q -> may_meet a b = true.
Proof.
  destruct a as [| l h [c |]], b as [| k g [d |]]; simpl; auto; intros (A & B & X) (C & D & Y) E.
  - destruct X as (p & Ip & Ep), Y as (q & Iq & Eq). apply existsb_exists. exists p. split; auto.
    apply existsb_exists. exists q. split; auto. apply Qeq_bool_iff. rewrite Ep, Eq. exact E.
  - destruct X as (p & Ip & Ep). apply existsb_exists. exists p. split; auto.
    apply andb_true_iff. split; apply Qle_bool_iff; lra.
  - destruct Y as (q & Iq & Eq). apply existsb_exists. exists q. split; auto.
    apply andb_true_iff. split; apply Qle_bool_iff; lra.
Qed.

Lemma equal_admits a b u v : contains a u -> contains b v -> admits (compare_equal a b) (Qeq_bool u v).
Proof.
  intros A B. pose proof (may_meet_sound a b u v A B) as M.
  destruct a as [| l h c]; [simpl; destruct (Qeq_bool u v); reflexivity |].
  destruct b as [| k g d]; [simpl; destruct (Qeq_bool u v); reflexivity |].
  unfold compare_equal. destruct A as (A & A' & _), B as (B & B' & _).
  destruct (Qlt_bool g l || Qlt_bool h k) eqn:E.
  - destruct (Qeq_bool u v) eqn:F; [| reflexivity]. apply Qeq_bool_iff in F. exfalso.
    apply orb_true_iff in E as [E | E]; apply Qlt_bool_true in E; lra.
  - destruct (Qeq_bool l h && Qeq_bool k g && Qeq_bool l k) eqn:G.
    + rewrite !andb_true_iff, !Qeq_bool_iff in G. destruct G as ((G1 & G2) & G3).
      assert (Qeq_bool u v = true) as ->; [| reflexivity]. apply Qeq_bool_iff. lra.
    + destruct (Qeq_bool u v) eqn:F; [| reflexivity]. apply Qeq_bool_iff in F. simpl. auto.
Qed.

Lemma turned_admits p t : admits p t -> admits (turned p) (negb t).
Proof. destruct t; simpl; auto. Qed.

Scheme number_induction := Induction for number Sort Prop with numbers_induction := Induction for numbers Sort Prop.
Combined Scheme number_numbers from number_induction, numbers_induction.
Scheme condition_induction := Induction for condition Sort Prop with conditions_induction := Induction for conditions Sort Prop.
Combined Scheme condition_conditions from condition_induction, conditions_induction.

Lemma lies_nth fs b x j f r : lies fs b x -> nth_error fs j = Some f -> nth_error b j = Some r ->
  has_index f r (nth j x 0).
Proof.
  intros [F _] E N. remember (combine fs b) as c eqn:C. revert fs b C j E N.
  induction F as [| [g q] i c x H F IH]; intros [| f' fs] [| r' b] C [| j] E N; simpl in *; try discriminate;
    inversion C; subst; clear C.
  - congruence.
  - eapply IH; eauto.
Qed.

Section Point.
Variables (fs : list feature) (b : list range) (x : point).
Hypothesis here : lies fs b x.

Lemma numbers_contained :
  (forall e, contains (number_spread fs b e) (number_value fs x e)) /\
  (forall l, contains (numbers_spread fs b (lift Qplus) l) (numbers_value fs x Qplus l) /\
             contains (numbers_spread fs b (lift Qmin) l) (numbers_value fs x Qmin l) /\
             contains (numbers_spread fs b (lift Qmax) l) (numbers_value fs x Qmax l)).
Proof.
  apply number_numbers; cbn [number_spread numbers_spread number_value numbers_value].
  - intro j. destruct (nth_error fs j) as [f |] eqn:E; [| exact I]. destruct (nth_error b j) as [r |] eqn:N; [| exact I].
    apply feature_contained. eapply lies_nth; eauto.
  - intro q. split; [apply Qle_refl |]. split; [apply Qle_refl |]. exists q. split; [left; reflexivity | apply Qeq_refl].
  - intros l (H & _). apply plain_contains, H.
  - intros a A c C. apply (lift_contains Qplus); auto using opposite_contains. intros. apply Qplus_le_compat; auto.
  - intros a A. apply opposite_contains, A.
  - intros q a A. apply times_contains, A.
  - intros a A. apply absolute_contains, A.
  - intros l (_ & H & _). apply plain_contains, H.
  - intros l (_ & _ & H). apply plain_contains, H.
  - auto.
  - intros a A l (H1 & H2 & H3). repeat split; apply lift_contains; auto; intros.
    + apply Qplus_le_compat; auto.
    + apply Q.min_le_compat; auto.
    + apply Q.max_le_compat; auto.
Qed.

Lemma conditions_admitted :
  (forall c, admits (possible fs b c) (obeys fs x c)) /\
  (forall l, admits (possible_all fs b l) (obeys_all fs x l) /\ admits (possible_any fs b l) (obeys_any fs x l)).
Proof.
  destruct numbers_contained as [N _].
  apply condition_conditions; cbn [possible possible_all possible_any obeys obeys_all obeys_any].
  - reflexivity.
  - reflexivity.
  - intros. apply less_admits; auto.
  - intros. apply at_most_admits; auto.
  - intros. apply equal_admits; auto.
  - intros. apply turned_admits, equal_admits; auto.
  - tauto.
  - tauto.
  - intros. apply turned_admits. auto.
  - split; reflexivity.
  - intros a A l [B C].
    change (admits (fst (possible fs b a) || fst (possible_all fs b l), snd (possible fs b a) && snd (possible_all fs b l))
              (obeys fs x a && obeys_all fs x l) /\
            admits (fst (possible fs b a) && fst (possible_any fs b l), snd (possible fs b a) || snd (possible_any fs b l))
              (obeys fs x a || obeys_any fs x l)).
    unfold admits in *. cbn [fst snd].
    destruct (obeys fs x a), (obeys_all fs x l), (obeys_any fs x l); cbn [andb orb]; rewrite ?A, ?B, ?C, ?orb_true_r;
      split; reflexivity.
Qed.

Theorem rule_is_broken c : snd (possible fs b c) = false -> obeys fs x c = false.
Proof.
  intro H. pose proof (proj1 conditions_admitted c) as A. destruct (obeys fs x c); auto. simpl in A. congruence.
Qed.
End Point.

(** ** Regions *)

Lemma only_point_sound fs b x p : lies fs b x -> only_point p b = true -> same_point p x = true.
Proof.
  intros [F L]. remember (combine fs b) as c eqn:C. revert fs b C L p.
  induction F as [| [g q] i c x [_ H] F IH]; intros [| f fs] [| r b] C L [| k p] O; simpl in *; try discriminate; auto.
  inversion C; subst; clear C. apply Nat.succ_inj in L.
  destruct (domain_of f), r as [lo hi u v | own u v]; try contradiction;
    rewrite !andb_true_iff in O; destruct O as ((O1 & O2) & O3).
    + apply Z.eqb_eq in O1, O2. subst. rewrite (IH fs b) by auto. rewrite andb_true_r. apply Z.eqb_eq. lia.
    + apply Z.leb_le in O1. apply Z.eqb_eq in O2. subst. rewrite (IH fs b) by auto. rewrite andb_true_r.
      destruct H as [_ H]. rewrite Z.pow2_bits_eqb in H by auto. exact H.
Qed.

Lemma surely_changed_sound fs b x j : lies fs b x -> surely_changed fs b j = true -> has_changed fs x j = true.
Proof.
  intros H S. unfold surely_changed, has_changed in *. destruct (nth_error fs j) as [f |] eqn:E; [| discriminate].
  destruct (nth_error b j) as [r |] eqn:N; [| discriminate]. destruct (lies_nth _ _ _ _ _ _ H E N) as [_ I].
  apply negb_true_iff, Z.eqb_neq. intro X. rewrite X in I.
  destruct (domain_of f), r; try contradiction; simpl in S.
  - rewrite orb_true_iff, !Z.ltb_lt in S. lia.
  - destruct I as [_ I]. rewrite I in S. discriminate.
Qed.

Lemma inside_sides_sound fs b x l : lies fs b x -> inside_sides l b = true -> in_sides l x = true.
Proof.
  intros [F L]. remember (combine fs b) as c eqn:C. revert fs b C L l.
  induction F as [| [g q] i c x [_ H] F IH]; intros [| f fs] [| r b] C L [| k l] O; simpl in *; try discriminate; auto.
  - destruct k; discriminate.
  - inversion C; subst; clear C. apply Nat.succ_inj in L.
    destruct k as [low high | own], r as [lo hi u v | mask u v]; try discriminate; destruct (domain_of f); try contradiction;
      rewrite !andb_true_iff in O.
    + destruct O as ((O1 & O2) & O3). apply Z.leb_le in O1, O2. rewrite (IH fs b) by auto. simpl.
      rewrite !andb_true_iff, !Z.leb_le. lia.
    + destruct O as (O1 & O3). apply Z.eqb_eq in O1. rewrite (IH fs b) by auto. simpl. rewrite andb_true_r.
      assert (Z.testbit (Z.ldiff mask own) i = false) as T by (rewrite O1; apply Z.bits_0).
      rewrite Z.ldiff_spec in T. destruct H as [_ H]. rewrite H in T. destruct (Z.testbit own i); auto.
Qed.

Lemma farthest_bound term f l i : In i l -> (term f i <= farthest term f l)%Q.
Proof.
  intro I. unfold farthest. apply (in_map (term f)) in I. destruct (map (term f) l); [contradiction |].
  apply greatest_bound. exact I.
Qed.

Lemma moved_corner f lower upper i : grid_kind (kind_of f) = true -> lower <= i <= upper ->
  moved f i <= moved f lower \/ moved f i <= moved f upper.
Proof.
  intros G I. unfold moved. pose proof (place_monotone (kind_of f) (start f) lower i G ltac:(lia)).
  pose proof (place_monotone (kind_of f) (start f) i upper G ltac:(lia)). lia.
Qed.

Lemma term_grows f i j : absent f = None -> (0 <= weight f)%Q -> (0 < scale f)%Q -> moved f i <= moved f j ->
  (weight f * changed f i <= weight f * changed f j)%Q /\ (weight f * delta f i <= weight f * delta f j)%Q.
Proof.
  intros N W S M. rewrite !(Qmult_comm (weight f)). unfold changed, delta, across. rewrite N.
  split; apply Qmult_le_compat_r; auto.
  - destruct (Z.eqb_spec (moved f i) 0), (Z.eqb_spec (moved f j) 0); try lra.
    exfalso. pose proof (Z.abs_nonneg (place (kind_of f) (start f) i - place (kind_of f) (start f) (start f))).
    unfold moved in *. lia.
  - unfold Qdiv. apply Qmult_le_compat_r; [| apply Qlt_le_weak, Qinv_lt_0_compat, S].
    unfold Qle. cbn [Qnum Qden]. apply Z.mul_le_mono_nonneg_r; [lia | exact M].
Qed.

Lemma corner_farther f r i : measured f = true -> forall k, has_index f r i ->
  exists c, In c (corners (restart f k) r) /\
    (weight f * changed (restart f k) i <= weight f * changed (restart f k) c)%Q /\
    (weight f * delta (restart f k) i <= weight f * delta (restart f k) c)%Q.
Proof.
  unfold measured, has_index, corners. intros M k [A I]. simpl domain_of.
  rewrite !andb_true_iff in M. destruct M as ((W & S) & G). apply Qle_bool_iff in W. apply Qlt_bool_true in S.
  destruct (domain_of f) as [lo hi | full] eqn:D, r as [lower upper u v | mask u v]; try contradiction.
  - apply andb_true_iff in G as [G N]. assert (absent f = None) as X by (destruct (absent f); [discriminate | auto]).
    destruct (moved_corner (restart f k) lower upper i G I) as [L | L];
      [exists lower | exists upper]; (split; [simpl; auto |]); exact (term_grows (restart f k) _ _ X W S L).
  - destruct I as [F T]. exists i. split; [eapply members_in; eauto |]. split; apply Qle_refl.
Qed.

Lemma most_bounds fs b x centre : lies fs b x -> forallb measured fs = true -> length centre = length fs ->
  let gs := restarted fs centre in
  (total (fun f i => weight f * changed f i) gs x <= most_total (fun f i => weight f * changed f i) gs b)%Q /\
  (total (fun f i => weight f * delta f i) gs x <= most_total (fun f i => weight f * delta f i) gs b)%Q /\
  (largest (fun f i => weight f * delta f i) gs x <= most_largest (fun f i => weight f * delta f i) gs b)%Q.
Proof.
  intros [F L]. remember (combine fs b) as c eqn:C. revert fs b C L centre.
  induction F as [| [g q] i c x H F IH]; intros [| f fs] [| r b] C L [| k centre] M E; cbn -[Qplus Qmult Qmax Qle Qred] in *;
    try discriminate; try (repeat split; apply Qle_refl).
  inversion C; subst; clear C. apply Nat.succ_inj in L. apply Nat.succ_inj in E. apply andb_true_iff in M as [Mf M].
  destruct (IH fs b eq_refl L centre M E) as (T1 & T2 & T3). destruct (corner_farther f r i Mf k H) as (e & Ie & G1 & G2).
  pose proof (farthest_bound (fun f i => weight f * changed f i)%Q (restart f k) _ e Ie) as B1.
  pose proof (farthest_bound (fun f i => weight f * delta f i)%Q (restart f k) _ e Ie) as B2.
  cbv beta in B1, B2. cbn [weight restart] in B1, B2. rewrite !Qred_correct. repeat split.
  - apply Qplus_le_compat; auto. eapply Qle_trans; eauto.
  - apply Qplus_le_compat; auto. eapply Qle_trans; eauto.
  - apply Q.max_le_compat; auto. eapply Qle_trans; eauto.
Qed.

Theorem region_holds s b x r : lies (features s) b x -> holds_box s r b = true -> in_region s x r = true.
Proof.
  intros H. destruct r as [p | js | centre radius | sides]; simpl.
  - eapply only_point_sound; eauto.
  - rewrite !forallb_forall. intros A j J. eapply surely_changed_sound; eauto.
  - rewrite !andb_true_iff, !Qle_bool_iff. intros (((((A & B) & G) & M) & E) & R). apply Nat.eqb_eq in E.
    apply Qlt_bool_true in R. destruct (most_bounds _ _ _ centre H M E) as (T1 & T2 & T3).
    apply negb_true_iff. destruct (Qle_bool radius _) eqn:X; auto. apply Qle_bool_iff in X. exfalso.
    unfold most_distance in R. unfold distance_by in X.
    apply (Qlt_irrefl radius). eapply Qle_lt_trans; [| exact R]. eapply Qle_trans; [exact X |].
    apply Qplus_le_compat; [apply Qplus_le_compat |].
    + rewrite !(Qmult_comm (alpha s)). apply Qmult_le_compat_r; auto.
    + rewrite !(Qmult_comm (beta s)). apply Qmult_le_compat_r; auto.
    + rewrite !(Qmult_comm (gamma s)). apply Qmult_le_compat_r; auto.
  - eapply inside_sides_sound; eauto.
Qed.
