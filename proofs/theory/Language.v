(** * The path formula of a program characterises the program

    The loop-free core of the language in single assignment form, its interpreter, and its formula, both as the list of
    all paths and composed from the parts of the program.

    Relates to: the theorem of Karimi, Barthe, Balle, Valera 2020, appendix A ("for every input x, phi(x, v) is valid
    exactly when the program returns v on x"), and to mace/language/ssa.py and mace/logic/paths.py.

    Main theorems:
    - [formula_characterises]: the composed formula has a solution with result v  <->  the program returns v;
    - [paths_characterise]:    some path of the list has a solution with result v  <->  the program returns v;
    - [formula_valid]:         the program returns v  <->  every solution of the definitions has the result v;
    - [formula_is_linear]:     the composed formula has at most four nodes for each node of the program.

    Values are of any type; [Q] (exact rationals) is the case that mace uses, see the example at the end. Functions and
    predicates are those of the metalanguage, so that the theorems hold for every choice of operators. *)

From Coq Require Import List Bool Arith Lia.
Import ListNotations.

Section Language.

Variable value : Type.

Definition name := nat.
Definition store := name -> value.

(** ** Syntax *)

Inductive expr :=
| Var (x : name)
| Const (v : value)
| Unary (f : value -> value) (a : expr)
| Binary (f : value -> value -> value) (a b : expr)
| Choose (g : guard) (a b : expr)
with guard :=
| Truth (b : bool)
| Test1 (p : value -> bool) (a : expr)
| Test2 (p : value -> value -> bool) (a b : expr)
| Not (g : guard)
| And (g h : guard)
| Or (g h : guard).

(** Commands do not return. *)
Inductive command :=
| Skip
| Assign (x : name) (e : expr)
| Seq (c d : command)
| If (g : guard) (c d : command).

(** A program returns on every run, and a return has no successor. *)
Inductive program :=
| Return (e : expr)
| Then (c : command) (p : program)
| Branch (g : guard) (p q : program).

(** ** Meaning *)

Fixpoint eval (s : store) (e : expr) : value :=
  match e with
  | Var x => s x
  | Const v => v
  | Unary f a => f (eval s a)
  | Binary f a b => f (eval s a) (eval s b)
  | Choose g a b => if test s g then eval s a else eval s b
  end
with test (s : store) (g : guard) : bool :=
  match g with
  | Truth b => b
  | Test1 p a => p (eval s a)
  | Test2 p a b => p (eval s a) (eval s b)
  | Not g => negb (test s g)
  | And g h => test s g && test s h
  | Or g h => test s g || test s h
  end.

Definition put (s : store) (x : name) (v : value) : store := fun y => if Nat.eqb y x then v else s y.

Fixpoint exec (c : command) (s : store) : store :=
  match c with
  | Skip => s
  | Assign x e => put s x (eval s e)
  | Seq c d => exec d (exec c s)
  | If g c d => if test s g then exec c s else exec d s
  end.

Fixpoint run (p : program) (s : store) : value :=
  match p with
  | Return e => eval s e
  | Then c p => run p (exec c s)
  | Branch g p q => if test s g then run p s else run q s
  end.

(** ** Single assignment

    [must] holds the names that are defined for certain, [may] those that may have been assigned. Every name is defined
    before it is read and assigned at most once on any run; both branches of an [If] may assign the joined name. *)

Fixpoint reads (e : expr) : list name :=
  match e with
  | Var x => [x]
  | Const _ => []
  | Unary _ a => reads a
  | Binary _ a b => reads a ++ reads b
  | Choose g a b => reads_guard g ++ reads a ++ reads b
  end
with reads_guard (g : guard) : list name :=
  match g with
  | Truth _ => []
  | Test1 _ a => reads a
  | Test2 _ a b => reads a ++ reads b
  | Not g => reads_guard g
  | And g h | Or g h => reads_guard g ++ reads_guard h
  end.

Fixpoint writes (c : command) : list name :=
  match c with
  | Skip => []
  | Assign x _ => [x]
  | Seq c d | If _ c d => writes c ++ writes d
  end.

Definition names := name -> Prop.
Definition within (l : list name) (d : names) := forall x, In x l -> d x.

Fixpoint defined (c : command) (must : names) : names :=
  match c with
  | Skip => must
  | Assign x _ => fun y => y = x \/ must y
  | Seq c d => defined d (defined c must)
  | If _ c d => fun y => defined c must y /\ defined d must y
  end.

Fixpoint single (c : command) (must may : names) : Prop :=
  match c with
  | Skip => True
  | Assign x e => within (reads e) must /\ ~ may x
  | Seq c d => single c must may /\ single d (defined c must) (fun y => may y \/ In y (writes c))
  | If g c d => within (reads_guard g) must /\ single c must may /\ single d must may
  end.

Fixpoint single_program (p : program) (must may : names) : Prop :=
  match p with
  | Return e => within (reads e) must
  | Then c p => single c must may /\ single_program p (defined c must) (fun y => may y \/ In y (writes c))
  | Branch g p q => within (reads_guard g) must /\ single_program p must may /\ single_program q must may
  end.

(** ** Formulae over a solution [s] (a value for every name) and the result [v] *)

Inductive formula :=
| Top
| Equal (x : name) (e : expr)
| Result (e : expr)
| Holds (g : guard)
| Fails (g : guard)
| Both (f h : formula)
| Either (f h : formula).

Fixpoint sat (f : formula) (s : store) (v : value) : Prop :=
  match f with
  | Top => True
  | Equal x e => s x = eval s e
  | Result e => v = eval s e
  | Holds g => test s g = true
  | Fails g => test s g = false
  | Both f h => sat f s v /\ sat h s v
  | Either f h => sat f s v \/ sat h s v
  end.

Fixpoint formula_of_command (c : command) : formula :=
  match c with
  | Skip => Top
  | Assign x e => Equal x e
  | Seq c d => Both (formula_of_command c) (formula_of_command d)
  | If g c d => Either (Both (Holds g) (formula_of_command c)) (Both (Fails g) (formula_of_command d))
  end.

Fixpoint formula_of (p : program) : formula :=
  match p with
  | Return e => Result e
  | Then c p => Both (formula_of_command c) (formula_of p)
  | Branch g p q => Either (Both (Holds g) (formula_of p)) (Both (Fails g) (formula_of q))
  end.

(** The exponential list: one path is a list of atoms. *)
Definition path := list formula.
Definition products (l m : list path) : list path := flat_map (fun a => map (fun b => a ++ b) m) l.

Fixpoint paths_of_command (c : command) : list path :=
  match c with
  | Skip => [[]]
  | Assign x e => [[Equal x e]]
  | Seq c d => products (paths_of_command c) (paths_of_command d)
  | If g c d => map (cons (Holds g)) (paths_of_command c) ++ map (cons (Fails g)) (paths_of_command d)
  end.

Fixpoint paths_of (p : program) : list path :=
  match p with
  | Return e => [[Result e]]
  | Then c p => products (paths_of_command c) (paths_of p)
  | Branch g p q => map (cons (Holds g)) (paths_of p) ++ map (cons (Fails g)) (paths_of q)
  end.

Definition sat_path (a : path) s v := Forall (fun f => sat f s v) a.
Definition sat_paths (l : list path) s v := Exists (fun a => sat_path a s v) l.

(** ** Proofs *)

Definition agree (d : names) (s t : store) := forall x, d x -> s x = t x.

Scheme expr_mutual := Induction for expr Sort Prop with guard_mutual := Induction for guard Sort Prop.
Combined Scheme syntax_mutual from expr_mutual, guard_mutual.

Lemma within_app d l m : within (l ++ m) d <-> within l d /\ within m d.
Proof.
  unfold within; split.
  - intro H; split; intros x I; apply H, in_or_app; auto.
  - intros [H K] x I; apply in_app_or in I as [I | I]; auto.
Qed.

Lemma eval_agree :
  (forall e d s t, agree d s t -> within (reads e) d -> eval s e = eval t e) /\
  (forall g d s t, agree d s t -> within (reads_guard g) d -> test s g = test t g).
Proof.
  apply syntax_mutual; simpl; intros; rewrite ?within_app in *; auto;
    repeat match goal with
    | H : _ /\ _ |- _ => destruct H
    | IH : forall d s t, agree d s t -> within _ d -> _ = _, A : agree ?d ?s ?t |- _ =>
        specialize (IH d s t A)
    | IH : within ?l ?d -> _, W : within ?l ?d |- _ => specialize (IH W); rewrite ?IH
    end; auto.
  apply H. apply H0. simpl. auto.
Qed.

Lemma exec_frame c : forall s x, ~ In x (writes c) -> exec c s x = s x.
Proof.
  induction c; simpl; intros s y N; auto.
  - unfold put. destruct (Nat.eqb_spec y x); subst; tauto.
  - rewrite in_app_iff in N. rewrite IHc2, IHc1; tauto.
  - rewrite in_app_iff in N. destruct (test s g); [apply IHc1 | apply IHc2]; tauto.
Qed.

Lemma defined_writes c : forall (must : names) x, defined c must x -> must x \/ In x (writes c).
Proof.
  induction c; simpl; intros must y D; auto.
  - destruct D; auto.
  - apply IHc2 in D as [D | D]; rewrite in_app_iff; auto. apply IHc1 in D as [D | D]; auto.
  - destruct D as [D _]. apply IHc1 in D as [D | D]; rewrite in_app_iff; auto.
Qed.

(** A solution of the formula is followed by the run. *)
Lemma command_follows c : forall must may s t v,
  single c must may -> agree must s t -> sat (formula_of_command c) t v -> agree (defined c must) (exec c s) t.
Proof.
  induction c; simpl; intros must may s t v S A F; auto.
  - destruct S as [W _]. intros y [-> | D]; unfold put.
    + rewrite Nat.eqb_refl, F. eapply eval_agree; eauto.
    + destruct (Nat.eqb_spec y x); subst; auto. rewrite F. eapply eval_agree; eauto.
  - destruct S, F. eapply IHc2; eauto.
  - destruct S as (W & S1 & S2).
    rewrite (proj2 eval_agree g must s t A W).
    destruct F as [[G F] | [G F]]; rewrite G; intros y [D1 D2]; [eapply IHc1 | eapply IHc2]; eauto.
Qed.

Lemma program_follows p : forall must may s t v,
  single_program p must may -> agree must s t -> sat (formula_of p) t v -> v = run p s.
Proof.
  induction p; simpl; intros must may s t v S A F.
  - rewrite F. symmetry. eapply eval_agree; eauto.
  - destruct S, F. eapply IHp; eauto. eapply command_follows; eauto.
  - destruct S as (W & S1 & S2).
    rewrite (proj2 eval_agree g must s t A W).
    destruct F as [[G F] | [G F]]; rewrite G; [eapply IHp1 | eapply IHp2]; eauto.
Qed.

(** What may have been assigned is not assigned again. *)
Lemma kept c : forall (d k : names) y, k y -> single c d k -> ~ In y (writes c).
Proof.
  induction c; simpl; intros d k y K S; auto.
  - intros [<- | []]. destruct S. auto.
  - rewrite in_app_iff. destruct S as [S S']. intros [J | J].
    + exact (IHc1 _ _ _ K S J).
    + exact (IHc2 _ (fun z => k z \/ In z (writes c1)) y (or_introl K) S' J).
  - rewrite in_app_iff. destruct S as (_ & S & S'). intros [J | J]; [eapply IHc1 | eapply IHc2]; eauto.
Qed.

(** The last store of a run solves the formula: what was assigned is not assigned again. *)
Lemma command_solves c : forall (must may : names) s t v,
  (forall x, must x -> may x) -> single c must may ->
  agree (fun x => may x \/ In x (writes c)) t (exec c s) -> sat (formula_of_command c) t v.
Proof.
  induction c; simpl; intros must may s t v I S A; auto.
  - destruct S as [W N].
    rewrite (A x) by auto. unfold put at 1. rewrite Nat.eqb_refl.
    apply (proj1 eval_agree e must); auto. intros y M. rewrite A by auto. unfold put.
    destruct (Nat.eqb_spec y x); subst; auto. exfalso; auto.
  - destruct S as [S1 S2].
    assert (forall y, may y \/ In y (writes c1) -> ~ In y (writes c2)) as Fresh
      by (intros y M; exact (kept c2 _ (fun z => may z \/ In z (writes c1)) y M S2)).
    split.
    + apply (IHc1 must may s); auto. intros y M.
      rewrite A by (rewrite in_app_iff; tauto). apply exec_frame. auto.
    + apply (IHc2 (defined c1 must) (fun y => may y \/ In y (writes c1)) (exec c1 s)); auto.
      * intros y D. apply defined_writes in D as [D | D]; auto.
      * intros y M. apply A. rewrite in_app_iff. tauto.
  - destruct S as (W & S1 & S2).
    assert (single (If g c1 c2) must may) as S by (simpl; auto).
    assert (forall y, must y -> exec (If g c1 c2) s y = s y) as Kept.
    { intros y M. apply exec_frame. exact (kept _ must may y (I y M) S). }
    assert (test t g = test s g) as T.
    { apply (proj2 eval_agree g must); auto. intros y M. rewrite A by auto. apply Kept, M. }
    destruct (test s g) eqn:G; [left | right]; split; auto;
      [apply (IHc1 must may s) | apply (IHc2 must may s)]; auto;
      intros y M; apply A; rewrite in_app_iff; tauto.
Qed.

Fixpoint last_store (p : program) (s : store) : store :=
  match p with
  | Return _ => s
  | Then c p => last_store p (exec c s)
  | Branch g p q => if test s g then last_store p s else last_store q s
  end.

Lemma last_store_keeps p : forall (must may : names) s y,
  single_program p must may -> may y -> last_store p s y = s y.
Proof.
  induction p; simpl; intros must may s y S M; auto.
  - destruct S as [S1 S2]. rewrite (IHp _ _ _ _ S2) by auto. apply exec_frame. exact (kept _ _ _ _ M S1).
  - destruct S as (_ & S1 & S2). destruct (test s g); eauto.
Qed.

Lemma program_solves p : forall (must may : names) s,
  (forall x, must x -> may x) -> single_program p must may -> sat (formula_of p) (last_store p s) (run p s).
Proof.
  induction p; simpl; intros must may s I S; auto.
  - destruct S as [S1 S2]. split.
    + eapply command_solves; eauto. intros y M. exact (last_store_keeps _ _ _ _ _ S2 M).
    + eapply IHp; [| exact S2]. intros y D. apply defined_writes in D as [D | D]; auto.
  - pose proof S as (W & S1 & S2).
    assert (test (last_store (Branch g p1 p2) s) g = test s g) as T.
    { apply (proj2 eval_agree g must); auto. intros y M. exact (last_store_keeps (Branch g p1 p2) must may s y S (I y M)). }
    simpl in T. destruct (test s g) eqn:G; [left | right]; split; eauto.
Qed.

(** [inputs] are the names that have a value from the start, and no command assigns them. *)
Definition single_assignment (p : program) (inputs : names) := single_program p inputs inputs.

Theorem formula_characterises p inputs x v : single_assignment p inputs ->
  ((exists s, agree inputs s x /\ sat (formula_of p) s v) <-> run p x = v).
Proof.
  intro S. split.
  - intros (s & A & F). symmetry. eapply program_follows; eauto. intros y M. symmetry. auto.
  - intros <-. exists (last_store p x). split.
    + intros y M. eapply last_store_keeps; eauto.
    + eapply program_solves; eauto.
Qed.

(** [phi(x, w)] closed over the definitions: valid when the result is forced to be [v]. *)
Theorem formula_valid p inputs x v : single_assignment p inputs ->
  ((forall s w, agree inputs s x -> sat (formula_of p) s w -> w = v) <-> run p x = v).
Proof.
  intro S. destruct (proj2 (formula_characterises p inputs x (run p x) S) eq_refl) as (s & A & F). split.
  - intro H. eapply H; eauto.
  - intros <- t w B G. symmetry. apply (formula_characterises p inputs x w S). eauto.
Qed.

(** The list of paths and the composed formula say the same. *)
Lemma products_sat l m s v : sat_paths (products l m) s v <-> sat_paths l s v /\ sat_paths m s v.
Proof.
  unfold sat_paths, products. rewrite !Exists_exists. split.
  - intros (a & I & F). apply in_flat_map in I as (b & J & I). apply in_map_iff in I as (c & <- & I).
    apply Forall_app in F as [F G]. split; eauto.
  - intros [(a & I & F) (b & J & G)]. exists (a ++ b). split.
    + apply in_flat_map. exists a. split; auto. apply in_map_iff. eauto.
    + apply Forall_app. auto.
Qed.

Lemma guarded_sat g h l m s v :
  sat_paths (map (cons g) l ++ map (cons h) m) s v <->
  (sat g s v /\ sat_paths l s v) \/ (sat h s v /\ sat_paths m s v).
Proof.
  assert (forall f k, Exists (fun a => sat_path a s v) (map (cons f) k) <-> sat f s v /\ sat_paths k s v) as E.
  { intros f k. unfold sat_paths. rewrite !Exists_exists. split.
    - intros (a & I & F). apply in_map_iff in I as (b & <- & I). inversion F; subst. eauto.
    - intros (F & a & I & G). exists (f :: a). split; [apply in_map; auto | constructor; auto]. }
  unfold sat_paths at 1. rewrite Exists_app, !E. tauto.
Qed.

Lemma one_path f s v : sat_paths [[f]] s v <-> sat f s v.
Proof.
  unfold sat_paths, sat_path. rewrite Exists_cons, Exists_nil, Forall_cons_iff. intuition.
Qed.

Lemma paths_of_command_sat c s v : sat_paths (paths_of_command c) s v <-> sat (formula_of_command c) s v.
Proof.
  induction c; simpl.
  - split; auto. intros _. constructor. constructor.
  - apply one_path.
  - rewrite products_sat. tauto.
  - rewrite guarded_sat. simpl. tauto.
Qed.

Theorem paths_are_formula p s v : sat_paths (paths_of p) s v <-> sat (formula_of p) s v.
Proof.
  induction p; simpl.
  - apply one_path.
  - rewrite products_sat, paths_of_command_sat. tauto.
  - rewrite guarded_sat. simpl. tauto.
Qed.

Theorem paths_characterise p inputs x v : single_assignment p inputs ->
  ((exists s, agree inputs s x /\ sat_paths (paths_of p) s v) <-> run p x = v).
Proof.
  intro S. rewrite <- (formula_characterises p inputs x v S).
  split; intros (s & A & F); exists s; split; auto; apply paths_are_formula; auto.
Qed.

(** The composed formula is linear; guards and expressions are shared, so each counts for one node. *)
Fixpoint nodes (f : formula) : nat :=
  match f with
  | Both f h | Either f h => 1 + nodes f + nodes h
  | _ => 1
  end.

Fixpoint command_nodes (c : command) : nat :=
  match c with
  | Skip | Assign _ _ => 1
  | Seq c d => 1 + command_nodes c + command_nodes d
  | If _ c d => 2 + command_nodes c + command_nodes d
  end.

Fixpoint program_nodes (p : program) : nat :=
  match p with
  | Return _ => 1
  | Then c p => 1 + command_nodes c + program_nodes p
  | Branch _ p q => 2 + program_nodes p + program_nodes q
  end.

Theorem formula_is_linear p : nodes (formula_of p) <= 4 * program_nodes p.
Proof.
  assert (forall c, nodes (formula_of_command c) <= 4 * command_nodes c) by (induction c; simpl; lia).
  induction p; simpl; try specialize (H c); lia.
Qed.

End Language.

(** ** Worked example 1 of the paper (figure 2), over the exact rationals

    [if x1 == 1: (y = 0 if x3 > 0 else 1) else: (y = 0 if x2 == 1 else 1)] *)

From Coq Require Import QArith.

Definition above_zero (q : Q) : bool := negb (Qle_bool q 0).
Definition is_one (q : Q) : bool := Qeq_bool q 1.

Definition figure_2 : program Q :=
  Branch Q (Test1 Q is_one (Var Q 1%nat))
    (Branch Q (Test1 Q above_zero (Var Q 3%nat)) (Return Q (Const Q 0)) (Return Q (Const Q 1)))
    (Branch Q (Test1 Q is_one (Var Q 2%nat)) (Return Q (Const Q 0)) (Return Q (Const Q 1))).

Lemma figure_2_has_four_paths : length (paths_of Q figure_2) = 4%nat.
Proof. reflexivity. Qed.

Lemma figure_2_is_single_assignment : single_assignment Q figure_2 (fun x => x = 1 \/ x = 2 \/ x = 3)%nat.
Proof.
  unfold single_assignment, figure_2, within; simpl.
  repeat split; intros x H; simpl in H; lia.
Qed.
