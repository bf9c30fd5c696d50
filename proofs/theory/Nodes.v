(** * The tree of boxes, whatever the model

    A proof tree over boxes of indices: split, part, empty, distance, changes, avoid and rule of FORMAT.md, which know nothing of
    the model. What a model adds are the leaves that it closes itself (trees, cell, prices, dual): a function from what is known
    of the points, the parts of the goal that are open, a leaf and a box to a verdict; and how more comes to be known of them
    (cliques). [node_sound] needs of it only that it never closes a box that holds a point against the claim with a part that is
    open, and that what it learns is true of each point of the box.

    Main theorem: [check_tree_sound]. *)

From Coq Require Import ZArith QArith Qround List Bool Lia.
From Mace Require Import Ensemble CutTree Costs Rules.
Import ListNotations.
Open Scope Z_scope.

(** For one part of the goal: a multiplier for each of its comparisons, and shares of the largest change, (feature,
    share); rationals that are not negative. *)
Record multipliers := Multipliers { factors : list Q; shares : list (nat * Q) }.

(** A toll: a price for lying on a side of an axis, set for one tree (Prices.v). *)
Inductive side_of_axis := Under (k : Z) | Over (k : Z) | Within (mask : Z).

Record toll := Toll { axis_of_toll : nat; side : side_of_axis; price_of : Z }.

(** Prices by number: that of 1, and those of 2 k + 1 and of 2 k as those of k. *)
Inductive table := Blank | Fork (here : Z) (odd even : table).

(** Prices for one part of the goal; everything counts in parts of [scale]. [multiply]: for each comparison. [top_shares]: for
    each axis, of the largest change. [tolls]: for each tree. [pieces]: for each axis where its cells end, a hint.
    [of_cliques]: of cliques, by number (Cliques.v). *)
Record pricing := Pricing {
  scale : Z; multiply : list Z; top_shares : list Z; tolls : list (list toll); pieces : list (list Z); of_cliques : table }.

Inductive proof :=
| Split (j : nat) (at_most : Z) (first second : proof)
| Part (k : nat) (first second : proof)
| Empty
| Distance
| Changes
| Avoided (k : nat)
| Rule (k : nat)
| Trees
| Cell
| Dual (parts : list multipliers)
| Prices (parts : list pricing)
| Cliques (till : positive) (marks : list (list (list positive))) (rest : proof).   (** for each tree the marks of its leaves *)

(** [cost_unit]: distances are counted in its parts; any value is sound, a common denominator loses nothing. *)
Record certificate := Certificate { cost_unit : positive; proof_of : proof }.

(** ** What is checked *)

Definition no_index (r : range) : bool :=
  match r with Interval lower upper _ _ => upper <? lower | Levels mask _ _ => mask =? 0 end.

Fixpoint sure_changes (axes : list axis) (b : list range) : nat :=
  match axes, b with
  | a :: axes, r :: b => (if start_is_out (about a) r then 1 else 0) + sure_changes axes b
  | _, _ => 0
  end.

(** Grids have intervals and levels have masks. *)
Fixpoint fits (fs : list feature) (b : list range) : bool :=
  match fs, b with
  | [], [] => true
  | f :: fs, r :: b =>
      match domain_of f, r with Between _ _, Interval _ _ _ _ | Among _, Levels _ _ _ => fits fs b | _, _ => false end
  | _, _ => false
  end.

(** Which parts of the goal are open: one truth value for each. Part k alone, and all but part k. *)
Fixpoint alone (k : nat) (open : list bool) : list bool :=
  match open, k with
  | [], _ => []
  | o :: open, O => o :: map (fun _ => false) open
  | _ :: open, S k => false :: alone k open
  end.

Fixpoint without (k : nat) (open : list bool) : list bool :=
  match open, k with
  | [], _ => []
  | _ :: open, O => false :: open
  | o :: open, S k => o :: without k open
  end.

Definition none_open (open : list bool) : bool := negb (existsb (fun o => o) open).

(** Of what is known of each part, that of the open ones. *)
Fixpoint opened {A} (open : list bool) (l : list A) : list A :=
  match open, l with
  | true :: open, a :: l => a :: opened open l
  | false :: open, _ :: l => opened open l
  | _, _ => []
  end.

(** Axes with their prices, so that these are worked out once. *)
Definition axes_of (s : statement) (D : positive) : list (axis * list price) :=
  map (fun a => (a, prices_of a)) (map (axis_of s D) (features s)).

Definition limit_of (s : statement) (D : positive) : option Z :=
  option_map (fun q => Qceiling (inject_Z (Zpos D) * q)) (closer_than s).

Section Check.
Variable s : statement.
Variable axes : list (axis * list price).
Variable limit : option Z.
Variable K : Type.   (** what is known *)
Variable closes : K -> list bool -> proof -> list range -> bool.   (** the leaves of the model *)
Variable learns : K -> list range -> positive -> list (list (list positive)) -> option K.

Definition check_leaf (known : K) (open : list bool) (p : proof) (b : list range) : bool :=
  none_open open || existsb no_index b ||
  match p with
  | Split _ _ _ _ | Part _ _ _ | Empty | Cliques _ _ _ => false
  | Distance => beyond limit (sum_of b + largest_of b)
  | Changes => match most_changes s with Some k => Nat.ltb k (sure_changes (map fst axes) b) | None => false end
  | Avoided k => match nth_error (avoid s) k with Some r => fits (features s) b && holds_box s r b | None => false end
  | Rule k =>
      match nth_error (rules s) k with
      | Some c => fits (features s) b && negb (snd (possible (features s) b c))
      | None => false
      end
  | Trees | Cell | Dual _ | Prices _ => closes known open p b
  end.

Fixpoint check_node (p : proof) (known : K) (open : list bool) (b : list range) : bool :=
  match p with
  | Split j at_most first second =>
      match nth_error axes j, nth_error b j with
      | Some (a, prices), Some r =>
          match domain_of (about a), r with
          | Between _ _, Interval lower upper _ _ =>
              check_node first known open (set j (interval_range a lower (Z.min upper at_most)) b) &&
              check_node second known open (set j (interval_range a (Z.max lower (at_most + 1)) upper) b)
          | Among _, Levels mask _ _ =>
              check_node first known open (set j (levels_range (Z.land mask at_most) prices) b) &&
              check_node second known open (set j (levels_range (Z.ldiff mask at_most) prices) b)
          | _, _ => false
          end
      | _, _ => false
      end
  | Part k first second => check_node first known (alone k open) b && check_node second known (without k open) b
  | Cliques till marks rest => match learns known b till marks with Some known => check_node rest known open b | None => false end
  | _ => check_leaf known open p b
  end.

Definition check_tree (known : K) (p : proof) : bool :=
  check_node p known (map (fun _ => true) (goal s)) (map (fun a => root_range (fst a)) axes).
End Check.

(** What every statement must obey, whatever its model. *)
Definition sound_statement (s : statement) (D : positive) : bool :=
  forallb sound_axis (map (axis_of s D) (features s)) && Qle_bool 0 (gamma s) && forallb (readable (features s)) (rules s).

(** ** Proofs *)

Lemma no_index_false b paid : inside b paid -> existsb no_index b = false.
Proof.
  intro I. induction I as [| r y b ys C I IH]; simpl; auto. rewrite IH, orb_false_r. destruct r; simpl in *.
  - apply Z.ltb_ge. lia.
  - apply Z.eqb_neq. intros ->. rewrite Z.bits_0 in C. destruct C. discriminate.
Qed.

Lemma alone_open k open : nth k (alone k open) false = nth k open false.
Proof. revert k. induction open as [| o open IH]; intros [| k]; simpl; auto. Qed.

Lemma without_open i k open : i <> k -> nth i (without k open) false = nth i open false.
Proof. revert i k. induction open as [| o open IH]; intros [| i] [| k] N; simpl; auto; congruence. Qed.

Lemma some_open i open : nth i open false = true -> none_open open = false.
Proof.
  unfold none_open. revert i. induction open as [| o open IH]; intros [| i] E; simpl in *; try discriminate.
  - rewrite E. reflexivity.
  - specialize (IH i E). apply negb_false_iff in IH. rewrite IH, orb_true_r. reflexivity.
Qed.

Lemma in_opened {A} open (l : list A) i a : nth i open false = true -> nth_error l i = Some a -> In a (opened open l).
Proof.
  revert l i. induction open as [| o open IH]; intros [| b l] [| i] O E; simpl in *; try discriminate.
  - injection E as ->. rewrite O. left. reflexivity.
  - destruct o; [right |]; eapply IH; eauto.
Qed.

Lemma combine_opened {A B} open (l : list A) (m : list B) : length l = length m ->
  combine (opened open l) (opened open m) = opened open (combine l m).
Proof.
  revert l m. induction open as [| o open IH]; intros [| a l] [| b m] E; simpl in *; try discriminate; auto.
  - destruct o; reflexivity.
  - destruct o; simpl; rewrite IH; auto.
Qed.

Lemma price_nonnegative a p : In p (prices_of a) -> 0 <= fst p.
Proof.
  unfold prices_of. destruct (domain_of (about a)); simpl; [tauto |]. rewrite in_map_iff. intros (n & <- & _). simpl. lia.
Qed.

Section Sound.
Variable s : statement.
Variable D : positive.
Let axes := map (axis_of s D) (features s).
Variable x : point.
Let priced_axes := axes_of s D.
Hypothesis sound : forallb sound_axis axes = true.
Hypothesis allows_x : Forall2 allows (features s) x.
Let paid := payments axes x.

Lemma at_axis j f : nth_error (features s) j = Some f ->
  nth_error axes j = Some (axis_of s D f) /\
  nth_error paid j = Some (nth j x 0, cost (axis_of s D f) (nth j x 0)) /\
  allows f (nth j x 0) /\ sound_axis (axis_of s D f) = true.
Proof.
  unfold paid, axes in *. revert sound. revert j. induction allows_x as [| g i fs y A F IH]; intros [| j] S E; simpl in *;
    try discriminate; apply andb_true_iff in S as [S1 S2].
  - injection E as <-. auto.
  - apply IH; auto.
Qed.

Lemma axis_about j a : nth_error axes j = Some a -> exists f, nth_error (features s) j = Some f /\ a = axis_of s D f.
Proof.
  unfold axes. intro E. destruct (nth_error (features s) j) as [f |] eqn:F.
  - exists f. split; auto. rewrite (map_nth_error _ _ _ F) in E. congruence.
  - apply nth_error_None in F. rewrite <- (map_length (axis_of s D)) in F. apply nth_error_None in F. congruence.
Qed.

Lemma priced_about j a prices : nth_error priced_axes j = Some (a, prices) ->
  exists f, nth_error (features s) j = Some f /\ a = axis_of s D f /\ prices = prices_of a.
Proof.
  unfold priced_axes, axes_of. intro E. destruct (nth_error (map (axis_of s D) (features s)) j) as [b |] eqn:B.
  - rewrite (map_nth_error _ _ _ B) in E. injection E as <- <-. destruct (axis_about j b B) as (f & Ef & ->). eauto.
  - apply nth_error_None in B. rewrite <- (map_length (fun a => (a, prices_of a))) in B. apply nth_error_None in B.
    congruence.
Qed.

Lemma sure_changes_below b : inside b paid -> (sure_changes axes b <= changes (features s) x)%nat.
Proof.
  unfold paid, axes, inside. clear - allows_x. revert b.
  induction allows_x as [| f i fs y A F IH]; simpl; intros b I; [lia |].
  inversion I as [| r ? rest ? C R]; subst. specialize (IH F rest R). simpl in *.
  destruct (start_is_out f r) eqn:O; [| lia].
  destruct (Z.eqb_spec i (start f)) as [-> | _]; [| lia]. exfalso.
  destruct r as [lower upper l big | mask l big]; simpl in *.
  - rewrite orb_true_iff, !Z.ltb_lt in O. lia.
  - destruct C as [C _]. rewrite C in O. discriminate.
Qed.

Lemma lies_here b : fits (features s) b = true -> inside b paid -> lies (features s) b x.
Proof.
  unfold paid, axes, inside, lies. clear - sound allows_x. revert b. unfold axes in sound.
  induction allows_x as [| f i fs y A F IH]; intros [| r b] T I; simpl in *; try discriminate.
  - split; constructor.
  - inversion I as [| ? ? ? ? C R]; subst. apply andb_true_iff in sound as [S1 S2].
    assert (has_index f r i /\ fits fs b = true) as [H T'].
    { unfold has_index. unfold sound_axis in S1. cbn [about axis_of] in S1.
      destruct (domain_of f), r; try discriminate; simpl in C; (split; [split; [exact A |] | exact T]);
        [exact (proj1 C) |].
      rewrite !andb_true_iff, !Z.leb_le in S1. destruct S1 as [_ S1]. split; [exact S1 | exact (proj1 C)]. }
    destruct (IH S2 F b T' R) as [L E]. split; [constructor; auto | simpl; congruence].
Qed.

Variable limit : option Z.
Hypothesis near : within limit paid.
Hypothesis has_few : match most_changes s with None => True | Some k => (changes (features s) x <= k)%nat end.
Hypothesis obeyed : forallb (obeys (features s) x) (rules s) = true.
Hypothesis outside : existsb (in_region s x) (avoid s) = false.
Variable K : Type.
Variable closes : K -> list bool -> proof -> list range -> bool.
Variable learns : K -> list range -> positive -> list (list (list positive)) -> option K.
Variable has : nat.   (** a part of the goal that the point has *)
Variable true_of : K -> Prop.   (** what is known is true of the point *)
Hypothesis closes_sound : forall known open p b, true_of known -> nth has open false = true -> inside b paid ->
  closes known open p b = true -> False.
Hypothesis learns_sound : forall known b till marks more, true_of known -> inside b paid -> learns known b till marks = Some more ->
  true_of more.

Lemma near_enough b : inside b paid -> beyond limit (sum_of b + largest_of b) = false.
Proof.
  intro I. pose proof (sum_inside _ _ I). pose proof (largest_inside _ _ I). apply (not_beyond limit paid); auto. lia.
Qed.

Lemma leaf_sound known open p b : true_of known -> nth has open false = true -> inside b paid ->
  check_leaf s priced_axes limit K closes known open p b = true -> False.
Proof.
  intros Y O I C. unfold check_leaf in C. rewrite (some_open _ _ O), (no_index_false b _ I) in C. cbn [orb] in C.
  destruct p as [j at_most p q | k p q | | | | k | k | | | parts | parts | till marks p]; try discriminate;
    [.. | exact (closes_sound _ _ _ b Y O I C) | exact (closes_sound _ _ _ b Y O I C) | exact (closes_sound _ _ _ b Y O I C) |
     exact (closes_sound _ _ _ b Y O I C)].
  - rewrite (near_enough b I) in C. discriminate.
  - destruct (most_changes s); [| discriminate]. apply Nat.ltb_lt in C.
    unfold priced_axes, axes_of in C. rewrite map_map in C. simpl in C. rewrite map_id in C.
    pose proof (sure_changes_below b I). unfold axes in *. lia.
  - destruct (nth_error (avoid s) k) as [r |] eqn:E; [| discriminate]. apply andb_true_iff in C as [F H].
    pose proof (region_holds s b x r (lies_here b F I) H) as R.
    assert (existsb (in_region s x) (avoid s) = true); [| congruence].
    apply existsb_exists. exists r. split; auto. eapply nth_error_In, E.
  - destruct (nth_error (rules s) k) as [c |] eqn:E; [| discriminate]. apply andb_true_iff in C as [F H].
    apply negb_true_iff in H. pose proof (rule_is_broken _ _ _ (lies_here b F I) c H) as R.
    rewrite forallb_forall in obeyed. rewrite (obeyed c) in R; [discriminate | eapply nth_error_In, E].
Qed.

Theorem node_sound p : forall known open b, true_of known -> nth has open false = true -> inside b paid ->
  check_node s priced_axes limit K closes learns p known open b = true -> False.
Proof.
  induction p as [j at_most p IHp q IHq | k p IHp q IHq | | | | k | k | | | parts | parts | till marks p IHp]; intros known open b Y O I C;
    [| | exact (leaf_sound known open Empty b Y O I C) | exact (leaf_sound known open Distance b Y O I C)
     | exact (leaf_sound known open Changes b Y O I C) | exact (leaf_sound known open (Avoided k) b Y O I C)
     | exact (leaf_sound known open (Rule k) b Y O I C) | exact (leaf_sound known open Trees b Y O I C)
     | exact (leaf_sound known open Cell b Y O I C) | exact (leaf_sound known open (Dual parts) b Y O I C)
     | exact (leaf_sound known open (Prices parts) b Y O I C) |].
  3: { simpl in C. destruct (learns known b till marks) as [more |] eqn:E; [| discriminate].
       exact (IHp more open b (learns_sound _ _ _ _ _ Y I E) O I C). }
  2: { simpl in C. apply andb_true_iff in C as [C1 C2]. destruct (Nat.eq_dec has k) as [<- | N].
       - apply (IHp known (alone has open) b); auto. rewrite alone_open. exact O.
       - apply (IHq known (without k open) b); auto. rewrite without_open; auto. }
  simpl in C.
  destruct (nth_error priced_axes j) as [[a prices] |] eqn:Ea; [| discriminate].
  destruct (nth_error b j) as [r |] eqn:Er; [| discriminate].
  destruct (priced_about j a prices Ea) as (f & Ef & -> & ->). destruct (at_axis j f Ef) as (_ & Ep & A & S).
  simpl about in C. destruct (inside_nth _ _ _ _ I Er) as (pay & Np & Cover). rewrite Ep in Np. injection Np as <-.
  destruct (domain_of f) as [lo hi | full] eqn:Dom, r as [lower upper l big | mask l big]; try discriminate;
    apply andb_true_iff in C as [C1 C2]; unfold covers in Cover; simpl fst in Cover; destruct Cover as [Cover _].
  - pose proof (grid_of (axis_of s D f) lo hi S Dom eq_refl) as G.
    destruct (Z.le_gt_cases (nth j x 0) at_most).
    + apply (IHp known open (set j (interval_range (axis_of s D f) lower (Z.min upper at_most)) b)); auto.
      eapply inside_set; eauto. apply interval_covers; auto. lia.
    + apply (IHq known open (set j (interval_range (axis_of s D f) (Z.max lower (at_most + 1)) upper) b)); auto.
      eapply inside_set; eauto. apply interval_covers; auto. lia.
  - assert (In (nth j x 0, cost (axis_of s D f) (nth j x 0)) (prices_of (axis_of s D f))) as P by (eapply priced; eauto).
    destruct (Z.testbit at_most (nth j x 0)) eqn:T.
    + apply (IHp known open (set j (levels_range (Z.land mask at_most) (prices_of (axis_of s D f))) b)); auto.
      eapply inside_set; eauto. apply levels_cover; auto. simpl fst. rewrite Z.land_spec, Cover, T. reflexivity.
    + apply (IHq known open (set j (levels_range (Z.ldiff mask at_most) (prices_of (axis_of s D f))) b)); auto.
      eapply inside_set; eauto. apply levels_cover; auto. simpl fst. rewrite Z.ldiff_spec, Cover, T. reflexivity.
Qed.

Lemma all_open {A} (l : list A) i : (i < length l)%nat -> nth i (map (fun _ => true) l) false = true.
Proof. revert i. induction l as [| a l IH]; intros [| i] L; simpl in *; try lia; auto. apply IH. lia. Qed.

Lemma inside_root : inside (map (fun a => root_range (fst a)) priced_axes) paid.
Proof.
  unfold paid, inside, priced_axes, axes_of, axes in *. rewrite map_map. simpl. clear - sound allows_x.
  induction allows_x as [| f i fs x A F IH]; simpl in *; constructor.
  - apply andb_true_iff in sound as [S _]. apply root_covers; auto.
  - apply IH; auto. apply andb_true_iff in sound. tauto.
Qed.
End Sound.

(** A tree that is closed: the claim holds of every allowed point that has a part of the goal, if what the model closes
    while that part is open holds no point against it, and what is known at first, and what the model learns, is true of it. *)
Theorem check_tree_sound s D K closes learns (true_of : K -> Prop) known p x has : sound_statement s D = true -> allowed s x ->
  (has < length (goal s))%nat -> true_of known ->
  (match closer_than s with Some q => distance s x < q | None => True end%Q ->
   within (limit_of s D) (payments (map (axis_of s D) (features s)) x) ->
   forall known open l b, true_of known -> nth has open false = true ->
     inside b (payments (map (axis_of s D) (features s)) x) -> closes known open l b = true -> False) ->
  (forall known b till marks more, true_of known -> inside b (payments (map (axis_of s D) (features s)) x) ->
     learns known b till marks = Some more -> true_of more) ->
  check_tree s (axes_of s D) (limit_of s D) K closes learns known p = true ->
  match closer_than s with Some q => (q <= distance s x)%Q | None => False end.
Proof.
  unfold sound_statement. rewrite !andb_true_iff. intros ((S & G) & _) (A & Few & Obeyed & Outside) Has Known Closes Learns C.
  set (paid := payments (map (axis_of s D) (features s)) x) in *.
  assert (match closer_than s with Some q => distance s x < q | None => True end%Q -> False) as No.
  { intro Nearer. assert (within (limit_of s D) paid) as Near.
    { unfold within, limit_of. destruct (closer_than s) as [q |]; simpl; auto.
      pose proof (paid_below_distance s D x S G) as P. cbv zeta in P. fold paid in P.
      pose proof (Qle_ceiling (inject_Z (Zpos D) * q)) as R.
      rewrite Zlt_Qlt. eapply Qle_lt_trans; [exact P |]. eapply Qlt_le_trans; [| exact R].
      rewrite !(Qmult_comm (inject_Z (Zpos D))). apply Qmult_lt_compat_r; auto. reflexivity. }
    exact (node_sound s D x S A (limit_of s D) Near Few Obeyed Outside K closes learns has true_of (Closes Nearer Near) Learns p _ _ _
      Known (all_open _ _ Has) (inside_root s D x S A) C). }
  destruct (closer_than s) as [q |]; [| exact (No Logic.I)].
  destruct (Qlt_le_dec (distance s x) q) as [L | L]; [contradiction (No L) | exact L].
Qed.
