(** * What the main theorems assume

    `make` prints this file's output and fails unless it is "Closed under the global context" for each of them. *)

From Mace Require Import Language Bisection Splitting Rounding Costs CutTree Columns Rules Margins Nodes Prices Forest Witness
  Sums Linear Least Comparisons Lattice Dual.

Print Assumptions formula_characterises.
Print Assumptions formula_valid.
Print Assumptions paths_characterise.
Print Assumptions formula_is_linear.

Print Assumptions bracket_kept.
Print Assumptions lower_is_a_bound.
Print Assumptions upper_is_a_bound.
Print Assumptions strict_question_closes.
Print Assumptions refuted_everywhere.
Print Assumptions question_halves.

Print Assumptions tree_sound.
Print Assumptions split_exhaustive.
Print Assumptions phase_exhaustive.
Print Assumptions empty_sound.
Print Assumptions distance_sound.
Print Assumptions changes_sound.
Print Assumptions avoid_sound.
Print Assumptions rule_sound.
Print Assumptions trees_sound.
Print Assumptions cell_sound.
Print Assumptions relu_relaxed.
Print Assumptions backward_sound.
Print Assumptions separable_minimum.
Print Assumptions shares_below_largest.
Print Assumptions dual_sound.
Print Assumptions dual_sound_anywhere.

Print Assumptions round_nearest.
Print Assumptions round_monotone.
Print Assumptions round_error.
Print Assumptions held_margin.
Print Assumptions paid_below_distance.
Print Assumptions best_sound.
Print Assumptions cut_sound.
Print Assumptions finite_column.
Print Assumptions rule_is_broken.
Print Assumptions region_holds.
Print Assumptions well_formed_finite.
Print Assumptions check_tree_sound.
Print Assumptions prices_sound.
Print Assumptions check_sound.
Print Assumptions witness_sound.
Print Assumptions certificate_sound.

Print Assumptions nearest_is_rounded.
Print Assumptions zero_is_rounded.
Print Assumptions sum_error.
Print Assumptions layer_error.
Print Assumptions column_sound.
Print Assumptions may_hold_margin.
Print Assumptions grid_least.
Print Assumptions distance_of_value.
Print Assumptions axis_least_sound.
Print Assumptions form_sound.
Print Assumptions combined_sound.
Print Assumptions whole_distance.
Print Assumptions linear_check_sound.
Print Assumptions linear_witness_sound.
Print Assumptions linear_certificate_sound.
