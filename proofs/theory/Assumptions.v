(** * What the main theorems assume

    `make` prints their names and fails unless this file's output is "Closed under the global context". They stand in one
    term, so that what several of them rest on is looked through once. *)

From Mace Require Import Language Bisection Splitting Rounding Costs CutTree Columns Rules Margins Nodes Cliques Prices Forest
  Witness Sums Linear Least Comparisons Lattice Dual.

Definition main_theorems := (
  @formula_characterises,
  @formula_valid,
  @paths_characterise,
  @formula_is_linear,

  @bracket_kept,
  @lower_is_a_bound,
  @upper_is_a_bound,
  @strict_question_closes,
  @refuted_everywhere,
  @question_halves,

  @tree_sound,
  @split_exhaustive,
  @phase_exhaustive,
  @empty_sound,
  @distance_sound,
  @changes_sound,
  @avoid_sound,
  @rule_sound,
  @trees_sound,
  @cell_sound,
  @relu_relaxed,
  @backward_sound,
  @separable_minimum,
  @shares_below_largest,
  @dual_sound,
  @dual_sound_anywhere,

  @round_nearest,
  @round_monotone,
  @round_error,
  @held_margin,
  @paid_below_distance,
  @best_sound,
  @cut_sound,
  @finite_column,
  @rule_is_broken,
  @region_holds,
  @well_formed_finite,
  @check_tree_sound,
  @due_below,
  @learn_sound,
  @prices_sound,
  @check_sound,
  @witness_sound,
  @certificate_sound,

  @nearest_is_rounded,
  @zero_is_rounded,
  @sum_error,
  @layer_error,
  @column_sound,
  @may_hold_margin,
  @grid_least,
  @distance_of_value,
  @axis_least_sound,
  @form_sound,
  @combined_sound,
  @whole_distance,
  @linear_check_sound,
  @linear_witness_sound,
  @linear_certificate_sound
).

Print Assumptions main_theorems.
