(** * A checked tree implies the claim

    The tree of FORMAT.md, with its rules stated abstractly: splitting is exhaustive, every rule that closes a leaf is
    sound, and by induction over the tree no allowed point has the goal and is closer than q (or has the goal at all).

    A node's state is a set of points: a box (an interval of indices per grid, a mask per set of levels) cut by phases.
    The rules hold for every goal, every distance and every scores; Forest.v has the executable case of ensembles.

    Main theorems, in the order of FORMAT.md's table:
    - [tree_sound]                       a checked tree implies the claim;
    - [split_exhaustive], [phase_exhaustive];
    - [empty_sound], [distance_sound], [changes_sound], [avoid_sound], [rule_sound] (with [holds_sound], [above_sound]:
      interval evaluation), [trees_sound], [cell_sound];
    - [dual_sound], from [relu_relaxed] (each of its cases), [backward_sound] (going backwards through the layers) and
      [separable_minimum] (each feature by itself). *)

From Coq Require Import QArith Qminmax Qabs ZArith List Bool Lia Lqa Psatz.
Import ListNotations.
Open Scope Q_scope.

(** ** Trees *)

Section Trees.

Variable point : Type.
Variable bad : point -> Prop.   (** allowed, with the goal, and closer than q (or anywhere) *)
Definition state := point -> Prop.

(** [closes] is the relation "this rule closes this state"; a split comes with its two children's states. *)
Inductive checked (closes : state -> Prop) : state -> Prop :=
| Closed s : closes s -> checked closes s
| Branch (s first second : state) : (forall p, s p -> first p \/ second p) ->
    checked closes first -> checked closes second -> checked closes s.

Theorem tree_sound (closes : state -> Prop) (root : state) : (forall s : state, closes s -> forall p, s p -> ~ bad p) ->
  checked closes root -> forall p, root p -> ~ bad p.
Proof.
  intros Sound C. induction C as [s L | s first second E C1 IH1 C2 IH2]; eauto.
  intros p H. destruct (E p H); auto.
Qed.

End Trees.

(** ** Splits *)

Inductive range := Interval (lower upper : Z) | Levels (mask : Z).

Definition member (r : range) (i : Z) : Prop :=
  match r with
  | Interval lower upper => (lower <= i <= upper)%Z
  | Levels mask => Z.testbit mask i = true
  end.

Definition in_box (b : list range) (x : list Z) : Prop := Forall2 member b x.

Definition first_part (r : range) (at_most : Z) : range :=
  match r with
  | Interval lower upper => Interval lower (Z.min upper at_most)
  | Levels mask => Levels (Z.land mask at_most)
  end.

Definition second_part (r : range) (at_most : Z) : range :=
  match r with
  | Interval lower upper => Interval (Z.max lower (at_most + 1)) upper
  | Levels mask => Levels (Z.ldiff mask at_most)
  end.

Fixpoint replace (j : nat) (f : range -> range) (b : list range) : list range :=
  match j, b with
  | O, r :: b => f r :: b
  | S j, r :: b => r :: replace j f b
  | _, [] => []
  end.

Lemma parts_exhaustive r at_most i : member r i -> member (first_part r at_most) i \/ member (second_part r at_most) i.
Proof.
  destruct r as [lower upper | mask]; simpl.
  - lia.
  - rewrite Z.land_spec, Z.ldiff_spec. intros ->. destruct (Z.testbit at_most i); auto.
Qed.

Theorem split_exhaustive j at_most b x : in_box b x ->
  in_box (replace j (fun r => first_part r at_most) b) x \/ in_box (replace j (fun r => second_part r at_most) b) x.
Proof.
  intro I. revert j. induction I as [| r i b x M I IH]; intros [| j]; simpl.
  - left; constructor.
  - left; constructor.
  - destruct (parts_exhaustive r at_most i M); [left | right]; constructor; auto.
  - destruct (IH j); [left | right]; constructor; auto.
Qed.

Theorem phase_exhaustive (z : Q) : z <= 0 \/ 0 <= z.
Proof. destruct (Qlt_le_dec z 0); [left | right]; lra. Qed.

(** ** Leaves of any model *)

Section Leaves.

Variable goal : list Z -> Prop.
Variable part : nat -> Z -> Q.      (** what axis j pays at an index: alpha w [delta > 0] + beta w delta *)
Variable big : nat -> Z -> Q.       (** gamma w delta *)

Fixpoint summed (j : nat) (x : list Z) : Q := match x with [] => 0 | i :: x => part j i + summed (S j) x end.
Fixpoint biggest (j : nat) (x : list Z) : Q := match x with [] => 0 | i :: x => Qmax (big j i) (biggest (S j) x) end.
Definition distance (x : list Z) : Q := summed 0 x + biggest 0 x.

Theorem empty_sound b x : Exists (fun r => forall i, ~ member r i) b -> ~ in_box b x.
Proof. intros E I. induction I; inversion E; subst; eauto. eapply H1; eauto. Qed.

(** [least j r] and [least_big j r] bound the two parts from below on a range. *)
Variable least least_big : nat -> range -> Q.
Hypothesis least_sound : forall j r i, member r i -> least j r <= part j i.
Hypothesis least_big_sound : forall j r i, member r i -> least_big j r <= big j i.

Fixpoint least_summed (j : nat) (b : list range) : Q :=
  match b with [] => 0 | r :: b => least j r + least_summed (S j) b end.
Fixpoint least_biggest (j : nat) (b : list range) : Q :=
  match b with [] => 0 | r :: b => Qmax (least_big j r) (least_biggest (S j) b) end.

Lemma box_distance b x : in_box b x -> least_summed 0 b + least_biggest 0 b <= distance x.
Proof.
  intro I. unfold distance. apply Qplus_le_compat.
  - generalize 0%nat. induction I as [| r i b x M I IH]; intro j; simpl; [lra |].
    apply Qplus_le_compat; auto.
  - generalize 0%nat. induction I as [| r i b x M I IH]; intro j; simpl; [lra |].
    apply Q.max_lub.
    + eapply Qle_trans; [apply least_big_sound; eauto | apply Q.le_max_l].
    + eapply Qle_trans; [apply IH | apply Q.le_max_r].
Qed.

Theorem distance_sound q b x : q <= least_summed 0 b + least_biggest 0 b -> in_box b x -> ~ distance x < q.
Proof. intros L I. pose proof (box_distance b x I). lra. Qed.

(** Axes that exclude their start have changed. *)
Fixpoint changes (start x : list Z) : nat :=
  match start, x with s :: start, i :: x => (if Z.eqb i s then 0 else 1) + changes start x | _, _ => 0 end.

Inductive excludes : list range -> list Z -> nat -> Prop :=
| ExcludesNone : excludes [] [] 0
| ExcludesStart r s b start n : ~ member r s -> excludes b start n -> excludes (r :: b) (s :: start) (S n)
| ExcludesSkip r s b start n : excludes b start n -> excludes (r :: b) (s :: start) n.

Theorem changes_sound most b start n x : excludes b start n -> (most < n)%nat -> in_box b x ->
  ~ (changes start x <= most)%nat.
Proof.
  intros E L I. enough (n <= changes start x)%nat by lia. clear L. revert x I.
  induction E as [| r s b start n N E IH | r s b start n E IH]; intros x I; inversion I as [| ? i ? y M R]; subst; simpl.
  - lia.
  - specialize (IH y R). destruct (Z.eqb_spec i s) as [-> | _]; [contradiction | lia].
  - specialize (IH y R). lia.
Qed.

(** A box that lies in an excluded region; an allowed point is in none. *)
Theorem avoid_sound (avoided : list Z -> Prop) b : (forall x, in_box b x -> avoided x) ->
  forall x, in_box b x -> ~ (goal x /\ ~ avoided x).
Proof. intros H x I [_ N]. auto. Qed.

(** The three forms of regions: that very point, a change of all of some axes, near a point. *)
Lemma avoid_point b x y : Forall2 (fun r i => forall k, member r k -> k = i) b y -> in_box b x -> x = y.
Proof.
  intros H. revert x. induction H as [| r i b y E F IH]; intros x I; inversion I; subst; auto. f_equal; auto.
Qed.

Lemma avoid_changes b x (start : list Z) j r s : nth_error b j = Some r -> nth_error start j = Some s -> ~ member r s ->
  in_box b x -> exists i, nth_error x j = Some i /\ i <> s.
Proof.
  intros B S N I. revert j B S. induction I as [| q i b x M I IH] in start |- *; intros [| j] B S; simpl in *; try discriminate.
  - injection B as ->. exists i. split; auto. intros ->. destruct start; simpl in S; [discriminate |]. congruence.
  - destruct start as [| t start]; simpl in S; [discriminate |]. eapply IH; eauto.
Qed.

(** [part] and [big] measured from the other point, with the greatest each can be on a range. *)
Lemma avoid_near (most most_big : nat -> range -> Q) radius b x :
  (forall j r i, member r i -> part j i <= most j r) -> (forall j r i, member r i -> big j i <= most_big j r) ->
  (forall j r, 0 <= most_big j r) ->
  (fix sum j b := match b with [] => 0 | r :: b => most j r + sum (S j) b end) 0%nat b +
  (fix max j b := match b with [] => 0 | r :: b => Qmax (most_big j r) (max (S j) b) end) 0%nat b < radius ->
  in_box b x -> distance x < radius.
Proof.
  intros P B N L I. eapply Qle_lt_trans; [| exact L]. unfold distance. apply Qplus_le_compat; clear L.
  - generalize 0%nat. induction I as [| r i b x M I IH]; intro j; simpl; [lra |]. apply Qplus_le_compat; auto.
  - generalize 0%nat. induction I as [| r i b x M I IH]; intro j; simpl; [lra |]. apply Q.max_lub.
    + eapply Qle_trans; [apply B; eauto | apply Q.le_max_l].
    + eapply Qle_trans; [apply IH | apply Q.le_max_r].
Qed.

Theorem trees_sound (trees : list (list Z -> Q)) (best : list Q) (than slack : Q) (holds : list Z -> Prop) b :
  (forall x, holds x -> than - slack <= fold_right (fun t sum => t x + sum) 0 trees) ->
  forall (reachable : list Z -> Prop),
  Forall2 (fun t v => forall x, in_box b x -> reachable x -> t x <= v) trees best ->
  fold_right Qplus 0 best < than - slack ->
  forall x, in_box b x -> reachable x -> ~ holds x.
Proof.
  intros Held reachable F L x I R H. specialize (Held x H).
  assert (fold_right (fun t sum => t x + sum) 0 trees <= fold_right Qplus 0 best) as S; [| lra].
  clear - F I R. induction F as [| t v trees best B F IH]; simpl; [lra |]. specialize (B x I R). lra.
Qed.

Theorem cell_sound (leaves : list Z -> list nat) (decides : list nat -> bool) (only : list nat) b :
  (forall x, goal x <-> decides (leaves x) = true) ->
  (forall x, in_box b x -> leaves x = only) -> decides only = false ->
  forall x, in_box b x -> ~ goal x.
Proof. intros G O D x I H. apply G in H. rewrite (O x I), D in H. discriminate. Qed.

End Leaves.

(** ** Rules: interval evaluation *)

Inductive term :=
| Value (j : nat)
| Const (q : Q)
| Plus (a b : term)
| Times (q : Q) (a : term)
| Abs (a : term)
| Min (a b : term)
| Max (a b : term).

Inductive formula :=
| Less (a b : term)
| AtMost (a b : term)
| Same (a b : term)
| Not (f : formula)
| And (f g : formula)
| Or (f g : formula).

Fixpoint value (x : nat -> Q) (a : term) : Q :=
  match a with
  | Value j => x j
  | Const q => q
  | Plus a b => value x a + value x b
  | Times q a => q * value x a
  | Abs a => Qabs (value x a)
  | Min a b => Qmin (value x a) (value x b)
  | Max a b => Qmax (value x a) (value x b)
  end.

Fixpoint holds (x : nat -> Q) (f : formula) : Prop :=
  match f with
  | Less a b => value x a < value x b
  | AtMost a b => value x a <= value x b
  | Same a b => value x a == value x b
  | Not f => ~ holds x f
  | And f g => holds x f /\ holds x g
  | Or f g => holds x f \/ holds x g
  end.

Definition interval := (Q * Q)%type.
Definition enclosed (i : interval) (v : Q) := fst i <= v <= snd i.

Fixpoint enclose (box : nat -> interval) (a : term) : interval :=
  match a with
  | Value j => box j
  | Const q => (q, q)
  | Plus a b => let (l, u) := enclose box a in let (m, v) := enclose box b in (l + m, u + v)
  | Times q a => let (l, u) := enclose box a in if Qle_bool 0 q then (q * l, q * u) else (q * u, q * l)
  | Abs a => let (l, u) := enclose box a in (Qmax 0 (Qmax l (- u)), Qmax (- l) u)
  | Min a b => let (l, u) := enclose box a in let (m, v) := enclose box b in (Qmin l m, Qmin u v)
  | Max a b => let (l, u) := enclose box a in let (m, v) := enclose box b in (Qmax l m, Qmax u v)
  end.

(** [Some true]: holds on the whole box; [Some false]: fails on the whole box. *)
Fixpoint judge (box : nat -> interval) (f : formula) : option bool :=
  match f with
  | Less a b =>
      let (l, u) := enclose box a in let (m, v) := enclose box b in
      if Qle_bool v l then Some false else if Qle_bool m u then None else Some true
  | AtMost a b =>
      let (l, u) := enclose box a in let (m, v) := enclose box b in
      if Qle_bool u m then Some true else if Qle_bool l v then None else Some false
  | Same a b =>
      let (l, u) := enclose box a in let (m, v) := enclose box b in
      if Qle_bool l v && Qle_bool m u then (if Qle_bool u m && Qle_bool v l then Some true else None) else Some false
  | Not f => option_map negb (judge box f)
  | And f g =>
      match judge box f, judge box g with
      | Some false, _ | _, Some false => Some false
      | Some true, Some true => Some true
      | _, _ => None
      end
  | Or f g =>
      match judge box f, judge box g with
      | Some true, _ | _, Some true => Some true
      | Some false, Some false => Some false
      | _, _ => None
      end
  end.

Lemma enclose_sound box x a : (forall j, enclosed (box j) (x j)) -> enclosed (enclose box a) (value x a).
Proof.
  intro B. unfold enclosed in *. induction a; simpl; auto;
    repeat match goal with |- context [enclose box ?t] => destruct (enclose box t) as [? ?] end; simpl in *.
  - lra.
  - lra.
  - destruct (Qle_bool 0 q) eqn:E; simpl.
    + apply Qle_bool_iff in E. split; nra.
    + assert (q < 0) by (apply Qnot_le_lt; intro L; apply Qle_bool_iff in L; congruence). split; nra.
  - split.
    + apply Q.max_lub; [apply Qabs_nonneg |]. apply Qabs_case; intros; apply Q.max_lub; lra.
    + apply Qabs_case; intros; [eapply Qle_trans; [| apply Q.le_max_r] | eapply Qle_trans; [| apply Q.le_max_l]]; lra.
  - split; [apply Q.min_glb |]; try (eapply Qle_trans; [apply Q.le_min_l | tauto]);
      try (eapply Qle_trans; [apply Q.le_min_r | tauto]).
    apply Q.min_glb; [eapply Qle_trans; [apply Q.le_min_l | tauto] | eapply Qle_trans; [apply Q.le_min_r | tauto]].
  - split; apply Q.max_lub; try (eapply Qle_trans; [| apply Q.le_max_l]; tauto);
      try (eapply Qle_trans; [| apply Q.le_max_r]; tauto).
Qed.

Lemma bool_le a b : Qle_bool a b = false -> b < a.
Proof. intro E. apply Qnot_le_lt. intro L. apply Qle_bool_iff in L. congruence. Qed.

Theorem judge_sound box x f : (forall j, enclosed (box j) (x j)) ->
  forall v, judge box f = Some v -> if v then holds x f else ~ holds x f.
Proof.
  intro B. induction f as [a b | a b | a b | f IH | f IHf g IHg | f IHf g IHg]; intros v E; simpl in *.
  1-3: pose proof (enclose_sound box x a B) as A; pose proof (enclose_sound box x b B) as C; unfold enclosed in *;
       destruct (enclose box a) as [l u], (enclose box b) as [m w]; simpl in *.
  - destruct (Qle_bool w l) eqn:E1; [injection E as <-; apply Qle_bool_iff in E1; lra |].
    destruct (Qle_bool m u) eqn:E2; [discriminate | injection E as <-; apply bool_le in E2; lra].
  - destruct (Qle_bool u m) eqn:E1; [injection E as <-; apply Qle_bool_iff in E1; lra |].
    destruct (Qle_bool l w) eqn:E2; [discriminate | injection E as <-; apply bool_le in E2; lra].
  - destruct (Qle_bool l w) eqn:E1; simpl in E; [| injection E as <-; apply bool_le in E1; lra].
    destruct (Qle_bool m u) eqn:E2; simpl in E; [| injection E as <-; apply bool_le in E2; lra].
    destruct (Qle_bool u m) eqn:E3; simpl in E; [| discriminate].
    destruct (Qle_bool w l) eqn:E4; [| discriminate].
    injection E as <-. apply Qle_bool_iff in E1, E2, E3, E4. lra.
  - destruct (judge box f) as [[] |]; simpl in E; try discriminate; injection E as <-;
      [specialize (IH true eq_refl) | specialize (IH false eq_refl)]; simpl in *; tauto.
  - destruct (judge box f) as [[] |], (judge box g) as [[] |]; try discriminate; injection E as <-;
      try specialize (IHf _ eq_refl); try specialize (IHg _ eq_refl); simpl in *; tauto.
  - destruct (judge box f) as [[] |], (judge box g) as [[] |]; try discriminate; injection E as <-;
      try specialize (IHf _ eq_refl); try specialize (IHg _ eq_refl); simpl in *; tauto.
Qed.

(** The leaf "rule": no point of the box obeys. *)
Theorem rule_sound box f : judge box f = Some false -> forall x, (forall j, enclosed (box j) (x j)) -> ~ holds x f.
Proof. intros E x B. exact (judge_sound box x f B false E). Qed.

(** ** Dual: a Lagrangian bound *)

Definition relu (z : Q) : Q := Qmax z 0.
Definition chord (l u z : Q) : Q := u * (z - l) / (u - l).

Lemma relu_cases z : (z <= 0 /\ relu z == 0) \/ (0 <= z /\ relu z == z).
Proof.
  unfold relu. destruct (Qlt_le_dec z 0); [left | right]; split; try lra; [apply Q.max_r | apply Q.max_l]; lra.
Qed.

Lemma chord_above l u z : l < 0 -> 0 < u -> l <= z <= u -> relu z <= chord l u z.
Proof.
  intros L U [A B]. unfold chord. apply Qle_shift_div_l; [lra |].
  destruct (relu_cases z) as [[Z ->] | [Z ->]]; nra.
Qed.

(** What may take the place of [v * relu z]: a lower bound that is linear in z. *)
Inductive relaxed (l u v : Q) : Q -> Q -> Prop :=
| Inactive : u <= 0 -> relaxed l u v 0 0
| Active : 0 <= l -> relaxed l u v v 0
| Under t : 0 <= v -> 0 <= t <= 1 -> relaxed l u v (v * t) 0
| Steep t : 0 <= v -> 1 <= t -> l < 0 -> 0 < u ->
    relaxed l u v (v * t - v * (t - 1) * u / (u - l)) (v * (t - 1) * u * l / (u - l))
| SteepActive t : 0 <= v -> 1 <= t -> 0 <= l -> relaxed l u v (v * t - v * (t - 1)) 0
| Over t : v <= 0 -> 0 <= t -> l < 0 -> 0 < u ->
    relaxed l u v (- v * t + v * (1 + t) * u / (u - l)) (- v * (1 + t) * u * l / (u - l))
| OverActive t : v <= 0 -> 0 <= t -> 0 <= l -> relaxed l u v (- v * t + v * (1 + t)) 0.

Theorem relu_relaxed l u v s k z : relaxed l u v s k -> l <= z <= u -> s * z + k <= v * relu z.
Proof.
  intros R B. destruct R as [U | L | t V T | t V T L U | t V T L | t V T L U | t V T L].
  - destruct (relu_cases z) as [[Z ->] | [Z ->]]; [lra |]. assert (z == 0) as -> by lra. lra.
  - destruct (relu_cases z) as [[Z ->] | [Z ->]]; [| lra]. assert (z == 0) as -> by lra. lra.
  - destruct (relu_cases z) as [[Z ->] | [Z ->]]; [assert (0 <= v * t) by nra | assert (0 <= v * z) by nra]; nra.
  - pose proof (chord_above l u z L U B) as C. unfold chord in C.
    assert ((v * t - v * (t - 1) * u / (u - l)) * z + v * (t - 1) * u * l / (u - l) ==
            v * t * z - v * (t - 1) * (u * (z - l) / (u - l))) as -> by (field; lra).
    set (c := u * (z - l) / (u - l)) in *. clearbody c.
    assert (z <= relu z) by (destruct (relu_cases z) as [[Z ->] | [Z ->]]; lra).
    assert (0 <= v * t) by nra. assert (0 <= v * (t - 1)) by nra. nra.
  - destruct (relu_cases z) as [[Z ->] | [Z ->]]; [| lra]. assert (z == 0) as -> by lra. lra.
  - pose proof (chord_above l u z L U B) as C. unfold chord in C.
    assert ((- v * t + v * (1 + t) * u / (u - l)) * z + - v * (1 + t) * u * l / (u - l) ==
            - v * t * z + v * (1 + t) * (u * (z - l) / (u - l))) as -> by (field; lra).
    set (c := u * (z - l) / (u - l)) in *. clearbody c.
    assert (z <= relu z) by (destruct (relu_cases z) as [[Z ->] | [Z ->]]; lra).
    assert (0 <= - v * t) by nra. assert (0 <= - v * (1 + t)) by nra. nra.
  - destruct (relu_cases z) as [[Z ->] | [Z ->]]; [| lra]. assert (z == 0) as -> by lra. lra.
Qed.

(** *** Backwards through the layers *)

Fixpoint dot (a y : list Q) : Q := match a, y with p :: a, q :: y => p * q + dot a y | _, _ => 0 end.
Fixpoint add (a b : list Q) : list Q := match a, b with p :: a, q :: b => (p + q) :: add a b | [], _ => b | _, [] => a end.
Definition scale (s : Q) (a : list Q) : list Q := map (Qmult s) a.

Lemma dot_add a b y : dot (add a b) y == dot a y + dot b y.
Proof.
  revert b y. induction a as [| p a IH]; intros [| q b] [| r y]; simpl; try lra. rewrite IH. lra.
Qed.

Lemma dot_scale s a y : dot (scale s a) y == s * dot a y.
Proof.
  revert y. induction a as [| p a IH]; intros [| r y]; simpl; try lra. unfold scale in IH. rewrite IH. lra.
Qed.

(** A hidden unit: weights and bias. A linear function of its layer's activations: coefficients and a constant. *)
Definition unit := (list Q * Q)%type.
Definition input (n : unit) (y : list Q) : Q := dot (fst n) y + snd n.
Definition activations (layer : list unit) (y : list Q) : list Q := map (fun n => relu (input n y)) layer.
Definition linear := (list Q * Q)%type.
Definition at_point (f : linear) (y : list Q) : Q := dot (fst f) y + snd f.

(** [lines]: for each unit the (s, k) that takes the place of its term; [phases]: for each unit a number m that is
    subtracted times z: the multiplier of a phase z >= 0, or minus the multiplier of a phase z <= 0. *)
Fixpoint back (layer : list unit) (lines : list (Q * Q)) (phases : list Q) : linear :=
  match layer, lines, phases with
  | n :: layer, (s, k) :: lines, m :: phases =>
      let (a, c) := back layer lines phases in (add (scale (s - m) (fst n)) a, (s - m) * snd n + k + c)
  | _, _, _ => ([], 0)
  end.

(** Line by line: the coefficient v of the unit, its line, its phase multiplier, sound at the point y. *)
Inductive valid (y : list Q) : list unit -> list Q -> list (Q * Q) -> list Q -> Prop :=
| ValidNone : valid y [] [] [] []
| ValidUnit n layer v vs s k lines m phases :
    s * input n y + k <= v * relu (input n y) -> 0 <= m * input n y ->
    valid y layer vs lines phases -> valid y (n :: layer) (v :: vs) ((s, k) :: lines) (m :: phases).

Lemma layer_back y layer vs lines phases : valid y layer vs lines phases ->
  at_point (back layer lines phases) y <= dot vs (activations layer y).
Proof.
  unfold at_point. induction 1 as [| n layer v vs s k lines m phases L M V IH]; simpl; [lra |].
  destruct (back layer lines phases) as [a c]. simpl in *. rewrite dot_add, dot_scale.
  unfold input in *. lra.
Qed.

(** All layers, the first one first. The coefficients at each layer are those that the later layers left. *)
Fixpoint backward (layers : list (list unit * list (Q * Q) * list Q)) (last : linear) : linear :=
  match layers with
  | [] => last
  | (layer, lines, phases) :: layers =>
      let (_, constant) := backward layers last in
      let (a, c) := back layer lines phases in (a, c + constant)
  end.

Fixpoint forward (layers : list (list unit * list (Q * Q) * list Q)) (y : list Q) : list Q :=
  match layers with [] => y | (layer, _, _) :: layers => forward layers (activations layer y) end.

Fixpoint all_valid (layers : list (list unit * list (Q * Q) * list Q)) (last : linear) (y : list Q) : Prop :=
  match layers with
  | [] => True
  | (layer, lines, phases) :: layers =>
      valid y layer (fst (backward layers last)) lines phases /\ all_valid layers last (activations layer y)
  end.

Theorem backward_sound layers last y : all_valid layers last y ->
  at_point (backward layers last) y <= at_point last (forward layers y).
Proof.
  revert y. induction layers as [| [[layer lines] phases] layers IH]; intro y; simpl; [intros _; lra |].
  intros [V A]. specialize (IH _ A). apply layer_back in V. unfold at_point in *.
  destruct (backward layers last) as [w constant]. destruct (back layer lines phases) as [a c]. simpl in *. lra.
Qed.

(** *** The columns: each feature by itself *)

Theorem separable_minimum (terms : list (Z -> Q)) (least : list Q) (b : list range) (x : list Z) :
  in_box b x ->
  Forall2 (fun (rt : range * (Z -> Q)) m => forall i, member (fst rt) i -> m <= snd rt i) (combine b terms) least ->
  length terms = length x ->
  fold_right Qplus 0 least <= fold_right Qplus 0 (map (fun ti => fst ti (snd ti)) (combine terms x)).
Proof.
  intro I. revert terms least. induction I as [| r i b x M I IH]; intros [| t terms] least F L; simpl in *;
    try discriminate; inversion F as [| ? m ? rest H R]; subst; simpl; [lra |].
  specialize (IH terms rest R ltac:(lia)). specialize (H i M). simpl in H. lra.
Qed.

(** The linf part: shares that sum to one at most are below the largest. *)
Theorem shares_below_largest (pairs : list (Q * Q)) (largest : Q) :
  0 <= largest -> Forall (fun p => 0 <= fst p /\ snd p <= largest) pairs ->
  fold_right (fun p t => fst p + t) 0 pairs <= 1 ->
  fold_right (fun p t => fst p * snd p + t) 0 pairs <= largest.
Proof.
  intros N F S.
  assert (fold_right (fun p t => fst p * snd p + t) 0 pairs <= fold_right (fun p t => fst p + t) 0 pairs * largest) as B.
  { clear S. induction F as [| [a d] pairs [A D] F IH]; simpl in *; [lra |]. nra. }
  assert (0 <= fold_right (fun p t => fst p + t) 0 pairs).
  { clear S B. induction F as [| [a d] pairs [A D] F IH]; simpl in *; lra. }
  nra.
Qed.

(** *** The rule *)

Section Dual.
Variable point : Type.
Variable dist : point -> Q.
Variable comparisons : list (point -> Q).         (** c_i: the float comparison holds only if c_i >= - E_i *)

Definition penalty (multipliers slacks : list Q) (x : point) : Q :=
  fold_right (fun me t => fst me * snd me + t) 0
    (combine multipliers (map (fun ce => fst ce x + snd ce) (combine comparisons slacks))).

Lemma penalty_nonnegative multipliers slacks x :
  Forall (Qle 0) multipliers -> Forall (fun ce => - snd ce <= fst ce x) (combine comparisons slacks) ->
  0 <= penalty multipliers slacks x.
Proof.
  unfold penalty. intros M. revert M. generalize (combine comparisons slacks) as cs. intros cs M. revert cs.
  induction M as [| m ms M0 M IH]; intros [| c cs] C; simpl; try lra.
  inversion C; subst. specialize (IH cs H2). simpl. nra.
Qed.

(** [bound] is any lower bound, over the points of the leaf, of the distance minus the penalty. *)
Theorem dual_sound (leaf : point -> Prop) multipliers slacks bound q :
  Forall (Qle 0) multipliers ->
  (forall x, leaf x -> bound <= dist x - penalty multipliers slacks x) -> q <= bound ->
  forall x, leaf x -> Forall (fun ce => - snd ce <= fst ce x) (combine comparisons slacks) -> q <= dist x.
Proof.
  intros M B L x I C. specialize (B x I). pose proof (penalty_nonnegative multipliers slacks x M C). lra.
Qed.

(** The claim "anywhere": the distance left out, and a bound above zero. *)
Theorem dual_sound_anywhere (leaf : point -> Prop) multipliers slacks bound :
  Forall (Qle 0) multipliers ->
  (forall x, leaf x -> bound <= - penalty multipliers slacks x) -> 0 < bound ->
  forall x, leaf x -> ~ Forall (fun ce => - snd ce <= fst ce x) (combine comparisons slacks).
Proof.
  intros M B L x I C. specialize (B x I). pose proof (penalty_nonnegative multipliers slacks x M C). lra.
Qed.
End Dual.
