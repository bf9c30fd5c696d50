(** * The best leaf of a tree inside a box

    Boxes of indices, trees whose tests are cuts or masks of indices, and the walk that finds the best leaf that a point
    of the box can reach while its distance stays below the claim. This is the heart of the rule "trees" of FORMAT.md
    (and of "cell": the only leaf that can be reached).

    Main theorems: [best_sound], [only_sound]. A point is seen through its payments: on each axis its index and what it
    costs there, in whole numbers. *)

From Coq Require Import ZArith QArith Qround List Bool Lia.
From Mace Require Import Ensemble.
Import ListNotations.
Open Scope Z_scope.

(** ** Costs as whole numbers

    Distances are multiplied by [Zpos unit] and rounded down, axis by axis; translate.py chooses the unit so that nothing is
    lost. An axis holds what its costs need. *)

Record axis := Axis {
  about : feature;
  origin : Z;                (** place of the start *)
  change_cost : Z;           (** for any change *)
  slope : Z * positive;      (** by distance moved, the part that is summed *)
  big_slope : Z * positive;  (** by distance moved, the part of which the largest counts *)
  lost : Z * Z;              (** for a change from or to "missing" *)
}.

(** Bits of a movement below 2^-[fine] are dropped first: floats that fine are rare, and long numbers are slow. *)
Definition fine (k : kind) : Z := match k with Float64 | Float32 => 160 | _ => 0 end.
Definition scaled (m : Z) (k : kind) (slope : Z * positive) : Z :=
  Z.shiftr (Z.shiftr m (shift k - fine k) * fst slope) (fine k) / Zpos (snd slope).

Definition movement (a : axis) (i : Z) : Z := Z.abs (place (kind_of (about a)) (start (about a)) i - origin a).

Definition cost_of_movement (a : axis) (m : Z) : Z * Z :=
  if m =? 0 then (0, 0)
  else (change_cost a + scaled m (kind_of (about a)) (slope a), scaled m (kind_of (about a)) (big_slope a)).

Definition cost (a : axis) (i : Z) : Z * Z :=
  match across (about a) i with Some _ => lost a | None => cost_of_movement a (movement a i) end.

Definition fraction (q : Q) : Z * positive := let r := Qred q in (Qnum r, Qden r).

Definition axis_of (s : statement) (D : positive) (f : feature) : axis :=
  let per_move := (inject_Z (Zpos D) * weight f / (inject_Z (Zpos (denominator (kind_of f))) * scale f))%Q in
  Axis f (place (kind_of f) (start f) (start f))
    (Qfloor (inject_Z (Zpos D) * (alpha s * weight f)))
    (fraction (beta s * per_move)) (fraction (gamma s * per_move))
    (match absent f with
     | Some (_, c) =>
         let any := if Qeq_bool c 0 then 0%Q else 1%Q in
         (Qfloor (inject_Z (Zpos D) * (alpha s * (weight f * any) + beta s * (weight f * c))),
          Qfloor (inject_Z (Zpos D) * (gamma s * (weight f * c))))
     | None => (0, 0)
     end).

(** ** Boxes: one range for each axis, with least costs that every point of the range pays *)

Inductive range :=
| Interval (lower upper : Z) (least big : Z)
| Levels (mask : Z) (least big : Z).

Definition least_of (r : range) : Z := match r with Interval _ _ l _ | Levels _ l _ => l end.
Definition big_of (r : range) : Z := match r with Interval _ _ _ b | Levels _ _ b => b end.
Definition sum_of (b : list range) : Z := fold_right (fun r t => least_of r + t) 0 b.
Definition largest_of (b : list range) : Z := fold_right (fun r t => Z.max (big_of r) t) 0 b.

Fixpoint set {A} (j : nat) (r : A) (b : list A) : list A :=
  match j, b with
  | O, _ :: b => r :: b
  | S j, q :: b => q :: set j r b
  | _, [] => []
  end.

(** One more at place j of lists. *)
Fixpoint push {A} (j : nat) (a : A) (g : list (list A)) : list (list A) :=
  match j, g with
  | O, l :: g => (a :: l) :: g
  | S j, l :: g => l :: push j a g
  | _, [] => []
  end.

Lemma push_length {A} j (a : A) g : length (push j a g) = length g.
Proof. revert g. induction j; intros [| l g]; simpl; auto. Qed.

(** The price list of an axis of levels. *)
Definition price := (Z * (Z * Z))%type.

Definition least_price (mask : Z) (prices : list price) : option (Z * Z) :=
  fold_right (fun (p : price) least =>
    if Z.testbit mask (fst p) then
      match least with
      | None => Some (snd p)
      | Some (l, b) => Some (Z.min l (fst (snd p)), Z.min b (snd (snd p)))
      end
    else least) None prices.

Definition levels_range (mask : Z) (prices : list price) : range :=
  match least_price mask prices with Some (l, b) => Levels mask l b | None => Levels 0 0 0 end.

(** The least that an index of an interval costs: that of the number nearest to the start, or of "missing". *)
Definition least_cost (a : axis) (lower upper : Z) : Z * Z :=
  match absent (about a) with
  | None => cost a (Z.max lower (Z.min upper (start (about a))))
  | Some (m, _) =>
      let near := cost a (Z.max lower (Z.min (Z.min upper (m - 1)) (start (about a)))) in
      if (lower <=? m) && (m <=? upper) then
        let c := cost a m in (Z.min (fst near) (fst c), Z.min (snd near) (snd c))
      else near
  end.

Definition interval_range (a : axis) (lower upper : Z) : range :=
  let c := least_cost a lower upper in Interval lower upper (fst c) (snd c).

Definition prices_of (a : axis) : list price :=
  match domain_of (about a) with
  | Between _ _ => []
  | Among mask => map (fun n => (Z.of_nat n, cost a (Z.of_nat n))) (seq 0 (Z.to_nat (Z.log2 mask + 1)))
  end.

Definition root_range (a : axis) : range :=
  match domain_of (about a) with
  | Between lower upper => interval_range a lower upper
  | Among mask => levels_range mask (prices_of a)
  end.

(** ** Trees over indices *)

Inductive cut_tree (A : Type) :=
| CutLeaf (a : A)
| Cut (j : nat) (at_most : Z) (left_is_far : bool) (least big : Z) (l r : cut_tree A)
| Sort (j : nat) (mask : Z) (prices : list price) (l r : cut_tree A).
Arguments CutLeaf {A}. Arguments Cut {A}. Arguments Sort {A}.

Fixpoint map_tree {A B} (f : A -> B) (t : cut_tree A) : cut_tree B :=
  match t with
  | CutLeaf a => CutLeaf (f a)
  | Cut j c far s m l r => Cut j c far s m (map_tree f l) (map_tree f r)
  | Sort j k p l r => Sort j k p (map_tree f l) (map_tree f r)
  end.

Definition higher (a b : option Z) : option Z :=
  match a, b with Some x, Some y => Some (Z.max x y) | Some x, None => Some x | None, _ => b end.

Definition beyond (limit : option Z) (cost : Z) : bool :=
  match limit with Some q => q <=? cost | None => false end.

(** The best leaf of a tree that can be reached inside the box at a cost below the limit; what a leaf is worth may depend
    on the part of the box from which it is reached. *)
Fixpoint best_by {A} (score : A -> list range -> Z) (limit : option Z) (t : cut_tree A) (b : list range) (sum big : Z) : option Z :=
  match t with
  | CutLeaf v => Some (score v b)
  | Cut j c left_is_far s m l r =>
      match nth_error b j with
      | Some (Interval lower upper s0 m0) =>
          if upper <=? c then best_by score limit l b sum big
          else if c <? lower then best_by score limit r b sum big
          else
            let s1 := Z.max s0 s in
            let m1 := Z.max m0 m in
            let sum1 := sum - s0 + s1 in
            let big1 := Z.max big m1 in
            if left_is_far then
              let near := best_by score limit r (set j (Interval (c + 1) upper s0 m0) b) sum big in
              if beyond limit (sum1 + big1) then near
              else higher near (best_by score limit l (set j (Interval lower c s1 m1) b) sum1 big1)
            else
              let near := best_by score limit l (set j (Interval lower c s0 m0) b) sum big in
              if beyond limit (sum1 + big1) then near
              else higher near (best_by score limit r (set j (Interval (c + 1) upper s1 m1) b) sum1 big1)
      | _ => higher (best_by score limit l b sum big) (best_by score limit r b sum big)
      end
  | Sort j mask prices l r =>
      match nth_error b j with
      | Some (Levels known s0 m0) =>
          let side (t : option Z -> cut_tree A -> list range -> Z -> Z -> option Z) child part :=
            if part =? 0 then None
            else if part =? known then t limit child b sum big
            else
              match least_price part prices with
              | None => None
              | Some (s, m) =>
                  let s1 := Z.max s0 s in
                  let m1 := Z.max m0 m in
                  let sum1 := sum - s0 + s1 in
                  let big1 := Z.max big m1 in
                  if beyond limit (sum1 + big1) then None
                  else t limit child (set j (Levels part s1 m1) b) sum1 big1
              end in
          higher (side (fun q c => best_by score q l) l (Z.land known mask)) (side (fun q c => best_by score q r) r (Z.ldiff known mask))
      | _ => higher (best_by score limit l b sum big) (best_by score limit r b sum big)
      end
  end.

Definition best : option Z -> cut_tree Z -> list range -> Z -> Z -> option Z := best_by (fun v _ => v).

(** The only leaf of a tree that can be reached inside the box. *)
Fixpoint only {A} (t : cut_tree A) (b : list range) : option A :=
  match t with
  | CutLeaf a => Some a
  | Cut j c _ _ _ l r =>
      match nth_error b j with
      | Some (Interval lower upper _ _) =>
          if upper <=? c then only l b else if c <? lower then only r b else None
      | _ => None
      end
  | Sort j mask _ l r =>
      match nth_error b j with
      | Some (Levels known _ _) =>
          if Z.ldiff known mask =? 0 then only l b else if Z.land known mask =? 0 then only r b else None
      | _ => None
      end
  end.

(** What a point pays: index, and costs, axis by axis. *)
Definition payment := (Z * (Z * Z))%type.
Definition index_at (x : list payment) (j : nat) : Z := match nth_error x j with Some p => fst p | None => 0 end.
Definition sum_paid (x : list payment) : Z := fold_right (fun p t => fst (snd p) + t) 0 x.
Definition largest_paid (x : list payment) : Z := fold_right (fun p t => Z.max (snd (snd p)) t) 0 x.

Definition covers (r : range) (p : payment) : Prop :=
  match r with
  | Interval lower upper l b => lower <= fst p <= upper /\ l <= fst (snd p) /\ b <= snd (snd p)
  | Levels mask l b => Z.testbit mask (fst p) = true /\ l <= fst (snd p) /\ b <= snd (snd p)
  end.

Definition inside (b : list range) (x : list payment) : Prop := Forall2 covers b x.

Lemma covers_costs r p : covers r p -> least_of r <= fst (snd p) /\ big_of r <= snd (snd p).
Proof. destruct r; simpl; tauto. Qed.

Lemma sum_inside b x : inside b x -> sum_of b <= sum_paid x.
Proof. induction 1 as [| r p b x C]; simpl; [lia |]. apply covers_costs in C. lia. Qed.

Lemma largest_inside b x : inside b x -> largest_of b <= largest_paid x.
Proof. induction 1 as [| r p b x C]; simpl; [lia |]. apply covers_costs in C. lia. Qed.

Lemma inside_nth b x j r : inside b x -> nth_error b j = Some r -> exists p, nth_error x j = Some p /\ covers r p.
Proof.
  intro I. revert j. induction I; intros [| j] E; simpl in *; try discriminate; eauto.
  injection E as <-. eauto.
Qed.

Lemma inside_set b x j r p : inside b x -> nth_error x j = Some p -> covers r p -> inside (set j r b) x.
Proof.
  intro I. revert j. induction I; intros [| j] E C; simpl in *; try discriminate.
  - injection E as <-. constructor; auto.
  - constructor; auto. apply IHI; auto.
Qed.

Lemma sum_set b j r r0 : nth_error b j = Some r0 -> sum_of (set j r b) = sum_of b - least_of r0 + least_of r.
Proof.
  revert j. induction b as [| q b IH]; intros [| j] E; simpl in *; try discriminate.
  - injection E as <-. lia.
  - rewrite (IH j E). lia.
Qed.

Lemma largest_nth x j p : nth_error x j = Some p -> snd (snd p) <= largest_paid x.
Proof.
  revert j. induction x; intros [| j] E; simpl in *; try discriminate.
  - injection E as <-. lia.
  - specialize (IHx j E). lia.
Qed.

(** Where a point lands, and what it must have paid on the way. *)
Fixpoint lands {A} (x : list payment) (t : cut_tree A) : A :=
  match t with
  | CutLeaf a => a
  | Cut j c _ _ _ l r => if index_at x j <=? c then lands x l else lands x r
  | Sort j mask _ l r => if Z.testbit mask (index_at x j) then lands x l else lands x r
  end.

Fixpoint fair {A} (x : list payment) (t : cut_tree A) : Prop :=
  match t with
  | CutLeaf _ => True
  | Cut j c far s m l r =>
      fair x l /\ fair x r /\
      forall p, nth_error x j = Some p ->
        (if far then fst p <= c else c < fst p) -> s <= fst (snd p) /\ m <= snd (snd p)
  | Sort j _ prices l r => fair x l /\ fair x r /\ forall p, nth_error x j = Some p -> In p prices
  end.

Lemma higher_left a b v : (exists w, a = Some w /\ v <= w) -> exists w, higher a b = Some w /\ v <= w.
Proof. intros (w & -> & L). destruct b; simpl; eexists; split; eauto; lia. Qed.

Lemma higher_right a b v : (exists w, b = Some w /\ v <= w) -> exists w, higher a b = Some w /\ v <= w.
Proof. intros (w & -> & L). destruct a; simpl; eexists; split; eauto; lia. Qed.

Lemma least_price_sound mask prices p : In p prices -> Z.testbit mask (fst p) = true ->
  exists l b, least_price mask prices = Some (l, b) /\ l <= fst (snd p) /\ b <= snd (snd p).
Proof.
  induction prices as [| q prices IH]; simpl; [tauto |]. intros [-> | I] T.
  - rewrite T. destruct (least_price mask prices) as [[l b] |].
    + exists (Z.min l (fst (snd p))), (Z.min b (snd (snd p))). repeat split; lia.
    + destruct p as [i [l b]]. exists l, b. simpl. repeat split; lia.
  - destruct (IH I T) as (l & b & E & L & B). rewrite E. destruct (Z.testbit mask (fst q)).
    + exists (Z.min l (fst (snd q))), (Z.min b (snd (snd q))). repeat split; lia.
    + exists l, b. auto.
Qed.

Definition within (limit : option Z) (x : list payment) : Prop :=
  match limit with Some q => sum_paid x + largest_paid x < q | None => True end.

Lemma not_beyond limit x cost : within limit x -> cost <= sum_paid x + largest_paid x -> beyond limit cost = false.
Proof. destruct limit; simpl; auto. intros. apply Z.leb_gt. lia. Qed.

Lemma best_by_sound {A} (score : A -> list range -> Z) (worth : A -> Z) limit x t :
  (forall a b, inside b x -> worth a <= score a b) -> within limit x -> fair x t -> forall b sum big,
  inside b x -> sum = sum_of b -> big <= largest_paid x ->
  exists w, best_by score limit t b sum big = Some w /\ worth (lands x t) <= w.
Proof.
  intros V W. induction t as [v | j c far s m l IHl r IHr | j mask prices l IHl r IHr]; simpl; intros F b sum big I E B.
  - eexists. split; eauto.
  - destruct F as (Fl & Fr & P). unfold index_at.
    destruct (nth_error b j) as [[lower upper s0 m0 |] |] eqn:N.
    + destruct (inside_nth _ _ _ _ I N) as (p & Np & C). pose proof C as (Ci & Cs & Cm). specialize (P p Np).
      rewrite Np. pose proof (largest_nth _ _ _ Np) as Lp.
      assert (forall i k s1 m1, i <= fst p <= k -> s1 <= fst (snd p) -> m1 <= snd (snd p) ->
              inside (set j (Interval i k s1 m1) b) x /\
              sum - s0 + s1 = sum_of (set j (Interval i k s1 m1) b)) as Narrow.
      { intros. split; [eapply inside_set; simpl; eauto; simpl; auto |]. rewrite (sum_set _ _ _ _ N). simpl. lia. }
      destruct (Z.leb_spec upper c).
      { destruct (Z.leb_spec (fst p) c); [| lia]. apply IHl; auto. }
      destruct (Z.ltb_spec c lower).
      { destruct (Z.leb_spec (fst p) c); [lia |]. apply IHr; auto. }
      destruct far.
      * destruct (Z.leb_spec (fst p) c) as [Le | Gt].
        -- destruct (P Le) as [Ps Pm].
           destruct (Narrow lower c (Z.max s0 s) (Z.max m0 m)) as [I1 E1]; try lia.
           rewrite (not_beyond limit x); auto.
           ++ apply higher_right. apply IHl; auto. lia.
           ++ pose proof (sum_inside _ _ I1). lia.
        -- destruct (Narrow (c + 1) upper s0 m0) as [I1 E1]; try lia.
           destruct (IHr Fr (set j (Interval (c + 1) upper s0 m0) b) sum big) as (w & Ew & Bound); auto; try lia.
           rewrite Ew. destruct (beyond limit _); [eauto |]. apply higher_left. eauto.
      * destruct (Z.leb_spec (fst p) c) as [Le | Gt].
        -- destruct (Narrow lower c s0 m0) as [I1 E1]; try lia.
           destruct (IHl Fl (set j (Interval lower c s0 m0) b) sum big) as (w & Ew & Bound); auto; try lia.
           rewrite Ew. destruct (beyond limit _); [eauto |]. apply higher_left. eauto.
        -- destruct (P Gt) as [Ps Pm].
           destruct (Narrow (c + 1) upper (Z.max s0 s) (Z.max m0 m)) as [I1 E1]; try lia.
           rewrite (not_beyond limit x); auto.
           ++ apply higher_right. apply IHr; auto. lia.
           ++ pose proof (sum_inside _ _ I1). lia.
    + destruct (match nth_error x j with Some p => fst p | None => 0 end <=? c);
        [apply higher_left, IHl | apply higher_right, IHr]; auto.
    + destruct (match nth_error x j with Some p => fst p | None => 0 end <=? c);
        [apply higher_left, IHl | apply higher_right, IHr]; auto.
  - destruct F as (Fl & Fr & P). unfold index_at.
    destruct (nth_error b j) as [[| known s0 m0] |] eqn:N.
    + destruct (Z.testbit mask (match nth_error x j with Some p => fst p | None => 0 end));
        [apply higher_left, IHl | apply higher_right, IHr]; auto.
    + destruct (inside_nth _ _ _ _ I N) as (p & Np & C). pose proof C as (Ci & Cs & Cm). specialize (P p Np).
      rewrite Np. pose proof (largest_nth _ _ _ Np) as Lp.
      assert (forall (u : cut_tree A) part,
        (forall b sum big, inside b x -> sum = sum_of b -> big <= largest_paid x ->
          exists w, best_by score limit u b sum big = Some w /\ worth (lands x u) <= w) ->
        Z.testbit part (fst p) = true ->
        exists w, (if part =? 0 then None else if part =? known then best_by score limit u b sum big
          else match least_price part prices with
               | None => None
               | Some (s, m) =>
                   if beyond limit (sum - s0 + Z.max s0 s + Z.max big (Z.max m0 m)) then None
                   else best_by score limit u (set j (Levels part (Z.max s0 s) (Z.max m0 m)) b) (sum - s0 + Z.max s0 s)
                          (Z.max big (Z.max m0 m))
               end) = Some w /\ worth (lands x u) <= w) as Side.
      { intros u part IH T. destruct (Z.eqb_spec part 0) as [-> | _]; [rewrite Z.bits_0 in T; discriminate |].
        destruct (part =? known); [apply IH; auto |].
        destruct (least_price_sound part prices p P T) as (s & m & -> & Ls & Lm).
        assert (inside (set j (Levels part (Z.max s0 s) (Z.max m0 m)) b) x) as I1.
        { eapply inside_set; eauto. simpl. repeat split; auto; lia. }
        assert (sum - s0 + Z.max s0 s = sum_of (set j (Levels part (Z.max s0 s) (Z.max m0 m)) b)) as E1.
        { rewrite (sum_set _ _ _ _ N). simpl. lia. }
        rewrite (not_beyond limit x); auto.
        - apply IH; auto. lia.
        - pose proof (sum_inside _ _ I1). lia. }
      destruct (Z.testbit mask (fst p)) eqn:T; [apply higher_left | apply higher_right]; apply Side; auto.
      * rewrite Z.land_spec, Ci, T. reflexivity.
      * rewrite Z.ldiff_spec, Ci, T. reflexivity.
    + destruct (Z.testbit mask (match nth_error x j with Some p => fst p | None => 0 end));
        [apply higher_left, IHl | apply higher_right, IHr]; auto.
Qed.

Lemma best_sound limit x t : within limit x -> fair x t -> forall b sum big,
  inside b x -> sum = sum_of b -> big <= largest_paid x ->
  exists w, best limit t b sum big = Some w /\ lands x t <= w.
Proof. apply (best_by_sound (fun v _ => v) (fun v => v)). intros; lia. Qed.

Lemma only_sound {A} x (t : cut_tree A) : forall b v, inside b x -> only t b = Some v -> lands x t = v.
Proof.
  induction t as [a | j c far s m l IHl r IHr | j mask prices l IHl r IHr]; simpl; intros b v I E.
  - congruence.
  - unfold index_at. destruct (nth_error b j) as [[lower upper s0 m0 |] |] eqn:N; try discriminate.
    destruct (inside_nth _ _ _ _ I N) as (p & Np & C & _). rewrite Np.
    destruct (Z.leb_spec upper c); [destruct (Z.leb_spec (fst p) c); [eauto | lia] |].
    destruct (Z.ltb_spec c lower); [destruct (Z.leb_spec (fst p) c); [lia | eauto] | discriminate].
  - unfold index_at. destruct (nth_error b j) as [[| known s0 m0] |] eqn:N; try discriminate.
    destruct (inside_nth _ _ _ _ I N) as (p & Np & C & _). rewrite Np.
    destruct (Z.eqb_spec (Z.ldiff known mask) 0) as [Z0 | _].
    + assert (Z.testbit (Z.ldiff known mask) (fst p) = false) as T by (rewrite Z0; apply Z.bits_0).
      rewrite Z.ldiff_spec, C in T. destruct (Z.testbit mask (fst p)); [eauto | discriminate].
    + destruct (Z.eqb_spec (Z.land known mask) 0) as [Z0 | _]; [| discriminate].
      assert (Z.testbit (Z.land known mask) (fst p) = false) as T by (rewrite Z0; apply Z.bits_0).
      rewrite Z.land_spec, C in T. destruct (Z.testbit mask (fst p)); [discriminate | eauto].
Qed.

Lemma lands_map {A B} (f : A -> B) x t : lands x (map_tree f t) = f (lands x t).
Proof. induction t; simpl; auto; destruct (_ : bool); auto. Qed.

Lemma fair_map {A B} (f : A -> B) x t : fair x t -> fair x (map_tree f t).
Proof. induction t; simpl; tauto. Qed.
