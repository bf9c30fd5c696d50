(** * Cliques: leaves of different trees of which a point reaches at most one

    Each leaf is marked with the numbers of the cliques that hold it. The marks of the leaves that a point reaches, of all
    trees together, are without repetition: of two leaves of different trees with one mark the boxes that their paths leave
    of the state's box are apart, which is checked where cliques are made known, once for everything below. So whatever
    numbers >= 0 the cliques have as prices, what a point's leaves pay for their marks is at most the sum of all prices.

    Main theorems: [learn_sound], [due_below]. *)

From Coq Require Import ZArith List Bool Lia.
From Mace Require Import Ensemble CutTree Nodes.
Import ListNotations.
Open Scope Z_scope.

(** ** Prices by number *)

Fixpoint price_at (k : positive) (t : table) {struct t} : Z :=
  match t, k with
  | Blank, _ => 0
  | Fork here _ _, xH => here
  | Fork _ odd _, xI k => price_at k odd
  | Fork _ _ even, xO k => price_at k even
  end.

Fixpoint whole_price (t : table) : Z := match t with Blank => 0 | Fork here odd even => here + whole_price odd + whole_price even end.
Fixpoint fair_prices (t : table) : bool :=
  match t with Blank => true | Fork here odd even => (0 <=? here) && fair_prices odd && fair_prices even end.

(** What is paid for marks. *)
Definition due (t : table) (marks : list positive) : Z :=
  match t with Blank => 0 | _ => fold_right (fun k v => price_at k t + v) 0 marks end.

(** ** Marks of leaves *)

(** Trees whose leaves are marked, and a number above all marks. *)
Definition knowledge (A : Type) := (positive * list (cut_tree (A * list positive)))%type.

Definition unmarked {A} (ts : list (cut_tree A)) : knowledge A := (1%positive, map (map_tree (fun a => (a, []))) ts).

(** What marks are given, to the leaves from the left to the right; and what is left over. *)
Fixpoint attach {A} (t : cut_tree A) (marks : list (list positive)) : cut_tree (A * list positive) * list (list positive) :=
  match t with
  | CutLeaf a => match marks with [] => (CutLeaf (a, []), []) | m :: marks => (CutLeaf (a, m), marks) end
  | Cut j c far s m l r => let (l, marks) := attach l marks in let (r, marks) := attach r marks in (Cut j c far s m l r, marks)
  | Sort j k p l r => let (l, marks) := attach l marks in let (r, marks) := attach r marks in (Sort j k p l r, marks)
  end.

Fixpoint attach_all {A} (ts : list (cut_tree A)) (marks : list (list (list positive))) : list (cut_tree (A * list positive)) :=
  match ts with
  | [] => []
  | t :: ts => match marks with [] => fst (attach t []) :: attach_all ts [] | m :: marks => fst (attach t m) :: attach_all ts marks end
  end.

Definition joined {A} (leaf : A * list positive * list positive) : A * list positive := (fst (fst leaf), snd leaf ++ snd (fst leaf)).

(** The leaves that a box reaches, each with what its path leaves of the box. *)
Fixpoint leaf_boxes {A} (t : cut_tree A) (b : list range) : list (A * list range) :=
  match t with
  | CutLeaf a => [(a, b)]
  | Cut j c _ _ _ l r =>
      match nth_error b j with
      | Some (Interval lower upper s m) =>
          if upper <=? c then leaf_boxes l b
          else if c <? lower then leaf_boxes r b
          else leaf_boxes l (set j (Interval lower c s m) b) ++ leaf_boxes r (set j (Interval (c + 1) upper s m) b)
      | _ => leaf_boxes l b ++ leaf_boxes r b
      end
  | Sort j mask _ l r =>
      match nth_error b j with
      | Some (Levels known s m) =>
          let side (t : list range -> list (A * list range)) part := if part =? 0 then [] else t (set j (Levels part s m) b) in
          side (leaf_boxes l) (Z.land known mask) ++ side (leaf_boxes r) (Z.ldiff known mask)
      | _ => leaf_boxes l b ++ leaf_boxes r b
      end
  end.

(** ** Leaves that are apart *)

Definition apart_ranges (r q : range) : bool :=
  match r, q with
  | Interval first last _ _, Interval lower upper _ _ => (last <? lower) || (upper <? first)
  | Levels mask _ _, Levels other _ _ => Z.land mask other =? 0
  | _, _ => false
  end.

Fixpoint apart_boxes (b c : list range) : bool :=
  match b, c with r :: b, q :: c => apart_ranges r q || apart_boxes b c | _, _ => false end.

(** Marks and a box. Leaves come tree by tree. *)
Definition entry := (list positive * list range)%type.

Definition is_marked (e : entry) : bool := match fst e with [] => false | _ => true end.

Fixpoint pairwise_apart (ls : list (list (list range))) : bool :=
  match ls with
  | [] => true
  | l :: ls => forallb (fun b => forallb (forallb (apart_boxes b)) ls) l && pairwise_apart ls
  end.

(** Marks by their last bit, without it. *)
Fixpoint odds (marks : list positive) : list positive :=
  match marks with [] => [] | xI k :: marks => k :: odds marks | _ :: marks => odds marks end.
Fixpoint evens (marks : list positive) : list positive :=
  match marks with [] => [] | xO k :: marks => k :: evens marks | _ :: marks => evens marks end.
Definition has_one (marks : list positive) : bool := existsb (Pos.eqb 1) marks.

Definition kept (f : list positive -> list positive) (l : list entry) : list entry :=
  filter is_marked (map (fun e => (f (fst e), snd e)) l).

Fixpoint all_apart (bits : nat) (ls : list (list entry)) : bool :=
  if forallb (fun l => match l with [] => true | _ => false end) ls then true
  else
    match bits with
    | O => false
    | S bits =>
        pairwise_apart (map (fun l => map snd (filter (fun e => has_one (fst e)) l)) ls) &&
        all_apart bits (map (kept odds) ls) && all_apart bits (map (kept evens) ls)
    end.

Fixpoint unrepeated (marks : list positive) : bool :=
  match marks with [] => true | k :: marks => negb (existsb (Pos.eqb k) marks) && unrepeated marks end.

Definition new_marks (from till : positive) (marks : list positive) : bool :=
  forallb (fun k => Pos.leb from k && Pos.ltb k till) marks.

(** More cliques of a box, with numbers below [till]; None where a point may reach two leaves of one. *)
Definition learn {A} (known : knowledge A) (b : list range) (till : positive) (marks : list (list (list positive))) : option (knowledge A) :=
  let ts := attach_all (snd known) marks in
  let entries := map (fun t => filter is_marked (map (fun e => (snd (fst e), snd e)) (leaf_boxes t b))) ts in
  if Pos.leb (fst known) till && forallb (forallb (fun e => new_marks (fst known) till (fst e) && unrepeated (fst e))) entries &&
     all_apart (Pos.size_nat till) entries
  then Some (till, map (map_tree joined) ts)
  else None.

(** ** Proofs *)

Lemma odds_in k marks : In (xI k) marks <-> In k (odds marks).
Proof. induction marks as [| [m | m |] marks IH]; cbn [odds In]; rewrite ?IH; [tauto | | |]; intuition congruence. Qed.

Lemma evens_in k marks : In (xO k) marks <-> In k (evens marks).
Proof. induction marks as [| [m | m |] marks IH]; cbn [evens In]; rewrite ?IH; [tauto | | |]; intuition congruence. Qed.

Lemma odds_nodup marks : NoDup marks -> NoDup (odds marks).
Proof.
  induction 1 as [| [m | m |] marks N _ IH]; cbn [odds]; auto; constructor; auto. rewrite <- odds_in. exact N.
Qed.

Lemma evens_nodup marks : NoDup marks -> NoDup (evens marks).
Proof.
  induction 1 as [| [m | m |] marks N _ IH]; cbn [evens]; auto; constructor; auto. rewrite <- evens_in. exact N.
Qed.

Definition paid_for (t : table) (marks : list positive) : Z := fold_right (fun k v => price_at k t + v) 0 marks.

Lemma due_is_paid t marks : due t marks = paid_for t marks.
Proof. destruct t; [| reflexivity]. cbn [due]. induction marks as [| k marks IH]; [reflexivity |]. exact IH. Qed.

Lemma paid_for_both t marks others : paid_for t (marks ++ others) = paid_for t marks + paid_for t others.
Proof. unfold paid_for. induction marks; cbn [app fold_right]; lia. Qed.

(** Marks without repetition pay no more than all prices. *)
Theorem due_below t marks : fair_prices t = true -> NoDup marks -> due t marks <= whole_price t.
Proof.
  intros F N. rewrite due_is_paid. revert marks N. induction t as [| here odd IHo even IHe]; intros marks N.
  - cbn [whole_price]. rewrite <- due_is_paid. cbn [due]. lia.
  - cbn [fair_prices] in F. rewrite !andb_true_iff, Z.leb_le in F. destruct F as ((H & O) & E).
    specialize (IHo O _ (odds_nodup _ N)). specialize (IHe E _ (evens_nodup _ N)). cbn [whole_price].
    assert (paid_for (Fork here odd even) marks <=
            (if has_one marks then here else 0) + paid_for odd (odds marks) + paid_for even (evens marks)) as B.
    { clear IHo IHe. induction N as [| k marks No N IH]; [cbn; lia |].
      assert (forall t k marks, paid_for t (k :: marks) = price_at k t + paid_for t marks) as Next by reflexivity.
      assert (forall k, has_one (k :: marks) = Pos.eqb 1 k || has_one marks) as First by reflexivity.
      rewrite Next, First. destruct k as [k | k |]; cbn [price_at odds evens Pos.eqb orb]; rewrite ?Next; [lia .. |].
      assert (has_one marks = false) as X; [| rewrite X in IH; lia].
      apply not_true_is_false. intro X. apply existsb_exists in X as (k & I & Q). apply Pos.eqb_eq in Q as <-. contradiction. }
    destruct (has_one marks); lia.
Qed.

(** *** Boxes that are apart *)

Lemma apart_ranges_sound r q p : covers r p -> covers q p -> apart_ranges r q = true -> False.
Proof.
  destruct r as [first last s m | mask s m], q as [lower upper s' m' | other s' m']; cbn [covers apart_ranges]; try discriminate.
  - intros (C & _) (C' & _). rewrite orb_true_iff, !Z.ltb_lt. lia.
  - intros (C & _) (C' & _) E. apply Z.eqb_eq in E. assert (Z.testbit (Z.land mask other) (fst p) = false) as T by (rewrite E; apply Z.bits_0).
    rewrite Z.land_spec, C, C' in T. discriminate.
Qed.

Lemma apart_boxes_sound b c x : inside b x -> inside c x -> apart_boxes b c = true -> False.
Proof.
  intros I. revert c. induction I as [| r p b x C I IH]; intros c J A; [discriminate A |].
  inversion J as [| q ? c' ? C' J']; subst. cbn [apart_boxes] in A. apply orb_true_iff in A as [A | A].
  - exact (apart_ranges_sound r q p C C' A).
  - exact (IH c' J' A).
Qed.

(** With one mark, leaves of different trees are apart. *)
Fixpoint apart_with (k : positive) (ls : list (list entry)) : Prop :=
  match ls with
  | [] => True
  | l :: ls =>
      (forall e, In e l -> In k (fst e) -> forall l' e', In l' ls -> In e' l' -> In k (fst e') -> apart_boxes (snd e) (snd e') = true) /\
      apart_with k ls
  end.

Lemma kept_in f g k l (e : entry) : (forall marks, In (g k) marks -> In k (f marks)) -> In e l -> In (g k) (fst e) ->
  In (f (fst e), snd e) (kept f l) /\ In k (f (fst e)).
Proof.
  intros G I M. specialize (G _ M). split; [| exact G]. apply filter_In. split.
  - apply (in_map (fun e => (f (fst e), snd e))). exact I.
  - unfold is_marked. cbn [fst]. destruct (f (fst e)); [contradiction G | reflexivity].
Qed.

Lemma kept_apart f g k : (forall marks, In (g k) marks -> In k (f marks)) -> forall ls,
  apart_with k (map (kept f) ls) -> apart_with (g k) ls.
Proof.
  intros G. induction ls as [| l ls IH]; cbn [map apart_with]; [auto |]. intros (H & T). split; [| auto].
  intros e I M l' e' I' Ie' M'. destruct (kept_in f g k l e G I M) as [J N]. destruct (kept_in f g k l' e' G Ie' M') as [J' N'].
  exact (H _ J N _ _ (in_map (kept f) _ _ I') J' N').
Qed.

Lemma pairwise_apart_with ls : pairwise_apart (map (fun l => map snd (filter (fun e => has_one (fst e)) l)) ls) = true -> apart_with 1 ls.
Proof.
  induction ls as [| l ls IH]; cbn [map pairwise_apart apart_with]; [auto |]. rewrite andb_true_iff. intros (H & T). split; [| auto].
  assert (forall e : entry, In 1%positive (fst e) -> has_one (fst e) = true) as One.
  { intros e M. apply existsb_exists. exists 1%positive. auto. }
  intros e I M l' e' I' Ie' M'. rewrite forallb_forall in H.
  specialize (H (snd e)). rewrite forallb_forall in H.
  assert (forallb (apart_boxes (snd e)) (map snd (filter (fun e => has_one (fst e)) l')) = true) as K.
  { apply H; [apply in_map, filter_In; auto |]. apply (in_map (fun l => map snd (filter (fun e => has_one (fst e)) l))). exact I'. }
  rewrite forallb_forall in K. apply K. apply in_map, filter_In. auto.
Qed.

Lemma all_apart_sound bits : forall ls, all_apart bits ls = true -> forall k, apart_with k ls.
Proof.
  assert (forall ls, forallb (fun l : list entry => match l with [] => true | _ => false end) ls = true -> forall k, apart_with k ls) as Bare.
  { induction ls as [| [| e l] ls IH]; cbn [forallb]; intros H k; [exact I | | discriminate]. split; [| auto].
    intros e Ie. destruct Ie. }
  induction bits as [| bits IH]; intros ls H k; cbn [all_apart] in H;
    destruct (forallb (fun l : list entry => match l with [] => true | _ => false end) ls) eqn:E; auto; [discriminate |].
  rewrite !andb_true_iff in H. destruct H as ((One & Odd) & Even). destruct k as [k | k |].
  - apply (kept_apart odds xI k); auto. intros marks M. apply odds_in. exact M.
  - apply (kept_apart evens xO k); auto. intros marks M. apply evens_in. exact M.
  - apply pairwise_apart_with. exact One.
Qed.

(** *** Where a point lands *)

Lemma leaf_boxes_sound {A} x (t : cut_tree A) : forall b, inside b x -> exists c, In (lands x t, c) (leaf_boxes t b) /\ inside c x.
Proof.
  induction t as [a | j c far s m l IHl r IHr | j mask prices l IHl r IHr]; cbn [lands leaf_boxes]; intros b I.
  - exists b. split; [left; reflexivity | exact I].
  - unfold index_at.
    assert (forall (q : bool), exists c, In (if q then lands x l else lands x r, c) (leaf_boxes l b ++ leaf_boxes r b) /\ inside c x) as Both.
    { intros [|]; [destruct (IHl b I) as (k & J & Ik) | destruct (IHr b I) as (k & J & Ik)]; exists k; split; auto; apply in_or_app; auto. }
    destruct (nth_error b j) as [[lower upper s0 m0 |] |] eqn:N; [| apply Both ..].
    destruct (inside_nth _ _ _ _ I N) as (p & Np & C). pose proof C as (Ci & Cs & Cm). rewrite Np.
    destruct (Z.leb_spec upper c); [destruct (Z.leb_spec (fst p) c); [auto | lia] |].
    destruct (Z.ltb_spec c lower); [destruct (Z.leb_spec (fst p) c); [lia | auto] |].
    destruct (Z.leb_spec (fst p) c) as [Le | Gt].
    + destruct (IHl (set j (Interval lower c s0 m0) b)) as (k & J & Ik).
      { eapply inside_set; eauto. cbn [covers]. repeat split; auto; lia. }
      exists k. split; auto. apply in_or_app. auto.
    + destruct (IHr (set j (Interval (c + 1) upper s0 m0) b)) as (k & J & Ik).
      { eapply inside_set; eauto. cbn [covers]. repeat split; auto; lia. }
      exists k. split; auto. apply in_or_app. auto.
  - unfold index_at.
    assert (forall (q : bool), exists c, In (if q then lands x l else lands x r, c) (leaf_boxes l b ++ leaf_boxes r b) /\ inside c x) as Both.
    { intros [|]; [destruct (IHl b I) as (k & J & Ik) | destruct (IHr b I) as (k & J & Ik)]; exists k; split; auto; apply in_or_app; auto. }
    destruct (nth_error b j) as [[| known s0 m0] |] eqn:N; [apply Both | | apply Both].
    destruct (inside_nth _ _ _ _ I N) as (p & Np & C). pose proof C as (Ci & Cs & Cm). rewrite Np.
    assert (forall (u : cut_tree A) part, (forall b, inside b x -> exists c, In (lands x u, c) (leaf_boxes u b) /\ inside c x) ->
      Z.testbit part (fst p) = true ->
      exists c, In (lands x u, c) (if part =? 0 then [] else leaf_boxes u (set j (Levels part s0 m0) b)) /\ inside c x) as Side.
    { intros u part IH T. destruct (Z.eqb_spec part 0) as [-> | _]; [rewrite Z.bits_0 in T; discriminate |]. apply IH.
      eapply inside_set; eauto. cbn [covers]. auto. }
    destruct (Z.testbit mask (fst p)) eqn:T.
    + destruct (Side l (Z.land known mask) IHl) as (k & J & Ik); [rewrite Z.land_spec, Ci, T; reflexivity |].
      exists k. split; auto. apply in_or_app. auto.
    + destruct (Side r (Z.ldiff known mask) IHr) as (k & J & Ik); [rewrite Z.ldiff_spec, Ci, T; reflexivity |].
      exists k. split; auto. apply in_or_app. auto.
Qed.

Lemma attach_lands {A} x (t : cut_tree A) : forall marks, fst (lands x (fst (attach t marks))) = lands x t.
Proof.
  induction t as [a | j c far s m l IHl r IHr | j mask prices l IHl r IHr]; intros marks; cbn [attach].
  - destruct marks; reflexivity.
  - specialize (IHl marks). destruct (attach l marks) as [l' rest]. specialize (IHr rest). destruct (attach r rest) as [r' rest'].
    cbn [fst lands] in *. destruct (index_at x j <=? c); auto.
  - specialize (IHl marks). destruct (attach l marks) as [l' rest]. specialize (IHr rest). destruct (attach r rest) as [r' rest'].
    cbn [fst lands] in *. destruct (Z.testbit mask (index_at x j)); auto.
Qed.

Lemma attach_fair {A} x (t : cut_tree A) : fair x t -> forall marks, fair x (fst (attach t marks)).
Proof.
  induction t as [a | j c far s m l IHl r IHr | j mask prices l IHl r IHr]; intros F marks; cbn [attach].
  - destruct marks; exact I.
  - destruct F as (Fl & Fr & P). specialize (IHl Fl marks). destruct (attach l marks) as [l' rest].
    specialize (IHr Fr rest). destruct (attach r rest) as [r' rest']. cbn [fst fair] in *. auto.
  - destruct F as (Fl & Fr & P). specialize (IHl Fl marks). destruct (attach l marks) as [l' rest].
    specialize (IHr Fr rest). destruct (attach r rest) as [r' rest']. cbn [fst fair] in *. auto.
Qed.

Lemma attach_all_sound {A} x (ts : list (cut_tree A)) : forall marks,
  map (fun t => fst (lands x t)) (attach_all ts marks) = map (lands x) ts /\
  (Forall (fair x) ts -> Forall (fair x) (attach_all ts marks)).
Proof.
  induction ts as [| t ts IH]; intros marks; cbn [attach_all map]; [auto |].
  destruct marks as [| m marks]; cbn [map]; rewrite attach_lands;
    [destruct (IH []) as [E F] | destruct (IH marks) as [E F]]; rewrite E;
    (split; [reflexivity |]; intro Q; inversion Q; subst; constructor; auto using attach_fair).
Qed.

Section Sound.
Context {A : Type}.
Variable x : list payment.

(** The marks of all leaves that the point reaches. *)
Definition landed (ts : list (cut_tree (A * list positive))) : list positive := flat_map (fun t => snd (lands x t)) ts.

(** [leaves]: what the point reaches in the trees without marks. *)
Definition knows (leaves : list A) (known : knowledge A) : Prop :=
  Forall (fair x) (snd known) /\ map (fun t => fst (lands x t)) (snd known) = leaves /\
  NoDup (landed (snd known)) /\ forall k, In k (landed (snd known)) -> (k < fst known)%positive.

Lemma unmarked_known ts : Forall (fair x) ts -> knows (map (lands x) ts) (unmarked ts).
Proof.
  intros F. unfold knows, unmarked. cbn [fst snd]. assert (landed (map (map_tree (fun a => (a, []))) ts) = []) as ->.
  { unfold landed. clear. induction ts as [| t ts IH]; [reflexivity |]. cbn [map flat_map]. rewrite lands_map, IH. reflexivity. }
  split; [| split; [| split; [constructor | intros k []]]].
  - apply Forall_map. eapply Forall_impl; [| exact F]. intros t. apply fair_map.
  - rewrite map_map. apply map_ext. intro t. rewrite lands_map. reflexivity.
Qed.

Let entries (b : list range) (ts : list (cut_tree (A * list positive * list positive))) : list (list entry) :=
  map (fun t => filter is_marked (map (fun e => (snd (fst e), snd e)) (leaf_boxes t b))) ts.

Lemma entry_of b t k : inside b x -> In k (snd (lands x t)) ->
  exists c, In (snd (lands x t), c) (filter is_marked (map (fun e => (snd (fst e), snd e)) (leaf_boxes (A := A * list positive * list positive) t b))) /\ inside c x.
Proof.
  intros I M. destruct (leaf_boxes_sound x t b I) as (c & J & C). exists c. split; [| exact C]. apply filter_In. split.
  - apply (in_map (fun e => (snd (fst e), snd e)) _ _ J).
  - unfold is_marked. cbn [fst]. destruct (snd (lands x t)); [contradiction M | reflexivity].
Qed.

Lemma unrepeated_nodup marks : unrepeated marks = true -> NoDup marks.
Proof.
  induction marks as [| k marks IH]; cbn [unrepeated]; intro H; constructor; apply andb_true_iff in H as [N H]; auto.
  intro I. apply negb_true_iff in N. rewrite <- not_true_iff_false in N. apply N. apply existsb_exists. exists k. rewrite Pos.eqb_refl. auto.
Qed.

Lemma new_landed b from till ts : inside b x ->
  forallb (forallb (fun e => new_marks from till (fst e) && unrepeated (fst e))) (entries b ts) = true ->
  (forall k, apart_with k (entries b ts)) ->
  NoDup (flat_map (fun t => snd (lands x t)) ts) /\ forall k, In k (flat_map (fun t => snd (lands x t)) ts) -> (from <= k < till)%positive.
Proof.
  intros I. unfold entries. induction ts as [| t ts IH]; cbn [map forallb flat_map apart_with]; intros H P; [split; [constructor | intros k []] |].
  apply andb_true_iff in H as [H T]. destruct (IH T (fun k => proj2 (P k))) as [N B]. rewrite forallb_forall in H.
  assert (snd (lands x t) = [] \/ new_marks from till (snd (lands x t)) && unrepeated (snd (lands x t)) = true) as [E | E].
  { destruct (snd (lands x t)) as [| k marks] eqn:E; [auto | right]. destruct (entry_of b t k I) as (c & J & _); [rewrite E; left; auto |].
    specialize (H _ J). cbn [fst] in H. rewrite E in H. exact H. }
  { rewrite E. auto. }
  apply andb_true_iff in E as [New Once]. unfold new_marks in New. rewrite forallb_forall in New. split.
  - assert (forall k, In k (snd (lands x t)) -> ~ In k (flat_map (fun t => snd (lands x t)) ts)) as Off.
    { intros k M O. apply in_flat_map in O as (u & Iu & Mu). destruct (entry_of b t k I M) as (c & J & C).
      destruct (entry_of b u k I Mu) as (d & K & C').
      refine (apart_boxes_sound c d x C C' (proj1 (P k) _ J M _ _ _ K Mu)).
      apply (in_map (fun t => filter is_marked (map (fun e => (snd (fst e), snd e)) (leaf_boxes t b)))). exact Iu. }
    clear - Once N Off. apply unrepeated_nodup in Once. induction Once as [| k marks Nk Ns IH]; cbn [app]; auto. constructor.
    + rewrite in_app_iff. intros [Q | Q]; [contradiction |]. apply (Off k); [left |]; auto.
    + apply IH. intros m M. apply Off. right. exact M.
  - intros k M. apply in_app_or in M as [M | M]; [| auto]. specialize (New k M). apply andb_true_iff in New as [L U].
    apply Pos.leb_le in L. apply Pos.ltb_lt in U. auto.
Qed.

Theorem learn_sound leaves known b till marks more : knows leaves known -> inside b x -> learn known b till marks = Some more ->
  knows leaves more.
Proof.
  intros (F & L & N & Below) I E. unfold learn in E. set (ts := attach_all (snd known) marks) in *.
  destruct (_ && _ && _) eqn:H in E; [| discriminate]. injection E as <-. rewrite !andb_true_iff in H. destruct H as ((Till & Marks) & Apart).
  apply Pos.leb_le in Till. destruct (new_landed b (fst known) till ts I Marks (all_apart_sound _ _ Apart)) as [New Range].
  destruct (attach_all_sound x (snd known) marks) as [Lands Fair]. fold ts in Lands, Fair.
  unfold knows. cbn [fst snd]. split; [| split].
  - apply Forall_map. eapply Forall_impl; [| exact (Fair F)]. intros t. apply fair_map.
  - rewrite <- L. rewrite map_map. transitivity (map fst (map (fun t => fst (lands x t)) ts)).
    + rewrite map_map. apply map_ext. intro t. rewrite lands_map. reflexivity.
    + rewrite Lands, map_map. reflexivity.
  - assert (landed (snd known) = flat_map (fun t => snd (fst (lands x t))) ts) as Old.
    { unfold landed. rewrite !flat_map_concat_map. f_equal. transitivity (map snd (map (lands x) (snd known))); [rewrite map_map; reflexivity |].
      rewrite <- Lands, map_map. reflexivity. }
    rewrite Old in N, Below.
    assert (forall k, count_occ Pos.eq_dec (landed (map (map_tree joined) ts)) k =
      (count_occ Pos.eq_dec (flat_map (fun t => snd (lands x t)) ts) k + count_occ Pos.eq_dec (flat_map (fun t => snd (fst (lands x t))) ts) k)%nat) as Count.
    { intro k. unfold landed. clear. induction ts as [| t us IH]; cbn [map flat_map]; [reflexivity |]. rewrite !count_occ_app, IH, lands_map.
      unfold joined at 1. cbn [snd]. rewrite count_occ_app. lia. }
    rewrite (NoDup_count_occ Pos.eq_dec) in N, New. split.
    + apply (NoDup_count_occ Pos.eq_dec). intro k. rewrite Count. specialize (N k). specialize (New k).
      destruct (in_dec Pos.eq_dec k (flat_map (fun t => snd (lands x t)) ts)) as [J | J].
      * assert (~ In k (flat_map (fun t => snd (fst (lands x t))) ts)) as O.
        { intro O. specialize (Below k O). specialize (Range k J). lia. }
        apply (count_occ_not_In Pos.eq_dec) in O. lia.
      * apply (count_occ_not_In Pos.eq_dec) in J. lia.
    + intros k J. apply (count_occ_In Pos.eq_dec) in J. rewrite Count in J.
      destruct (in_dec Pos.eq_dec k (flat_map (fun t => snd (lands x t)) ts)) as [K | K]; [exact (proj2 (Range k K)) |].
      apply (count_occ_not_In Pos.eq_dec) in K. assert (In k (flat_map (fun t => snd (fst (lands x t))) ts)) as O.
      { apply (count_occ_In Pos.eq_dec). lia. }
      specialize (Below k O). lia.
Qed.
End Sound.
