(** The checker of ../theory as an OCaml program: whole numbers are those of Zarith, everything else is what Coq has. *)

From Coq Require Import ZArith QArith List Extraction.
From Mace Require Import Ensemble Forest Witness Dual.

Extraction Language OCaml.

Extract Inductive bool => "bool" ["true" "false"].
Extract Inductive option => "option" ["Some" "None"].
Extract Inductive list => "list" ["[]" "(::)"].
Extract Inductive prod => "(*)" ["(,)"].
Extract Inductive sumbool => "bool" ["true" "false"].
Extract Inductive Datatypes.comparison => "int" ["0" "(-1)" "1"] "Integers.by_order".

Extract Inductive positive => "Integers.t" ["Integers.double_and_one" "Integers.double" "Integers.one"] "Integers.by_bit".
Extract Inductive Z => "Integers.t" ["Integers.zero" "" "Integers.opposite"] "Integers.by_sign".

Extract Inlined Constant andb => "(&&)".
Extract Inlined Constant orb => "(||)".
Extract Inlined Constant negb => "not".

Extract Inlined Constant Pos.add => "Integers.add".
Extract Inlined Constant Pos.mul => "Integers.mul".
Extract Inlined Constant Pos.eqb => "Integers.equal".
Extract Inlined Constant Pos.compare => "Integers.compare".
Extract Inlined Constant Z.add => "Integers.add".
Extract Inlined Constant Z.sub => "Integers.sub".
Extract Inlined Constant Z.mul => "Integers.mul".
Extract Inlined Constant Z.opp => "Integers.opposite".
Extract Inlined Constant Z.abs => "Integers.abs".
Extract Inlined Constant Z.sgn => "Integers.sign".
Extract Inlined Constant Z.max => "Integers.max".
Extract Inlined Constant Z.min => "Integers.min".
Extract Inlined Constant Z.compare => "Integers.compare".
Extract Inlined Constant Z.eqb => "Integers.equal".
Extract Inlined Constant Z.leb => "Integers.leq".
Extract Inlined Constant Z.ltb => "Integers.lt".
Extract Inlined Constant Z.even => "Integers.even".
Extract Inlined Constant Z.odd => "Integers.odd".
Extract Inlined Constant Z.div => "Integers.div".
Extract Inlined Constant Z.modulo => "Integers.modulo".
Extract Inlined Constant Z.div_eucl => "Integers.div_modulo".
Extract Inlined Constant Z.log2 => "Integers.log2".
Extract Inlined Constant Z.pow => "Integers.pow".
Extract Inlined Constant Z.shiftl => "Integers.shift_left".
Extract Inlined Constant Z.shiftr => "Integers.shift_right".
Extract Inlined Constant Z.land => "Integers.both".
Extract Inlined Constant Z.ldiff => "Integers.without".
Extract Inlined Constant Z.lor => "Integers.either".
Extract Inlined Constant Z.testbit => "Integers.bit".
Extract Inlined Constant Z.setbit => "Integers.set_bit".
Extract Inlined Constant Z.to_pos => "Integers.to_positive".
Extract Constant Z.ggcd => "Integers.reduce".

Extraction "accepts.ml" accepts linear_accepts.
