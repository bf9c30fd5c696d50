(* Sections 5 and 6 of FORMAT.md: from the nodes of a certificate to a proof of the theory.

   Nothing here is trusted. The theory's proofs say less than nodes do: the theory looks for the leaves that a box reaches,
   where a node names those that it does not; only the leaves of cliques are named there too. This file follows the nodes as
   FORMAT.md says, refuses what does not fit, and hands over a proof that the theory judges. Only what both accept is
   accepted; what this file follows and the theory does not is "not covered", and [Judge.blame] says at which leaf. *)

module C = Accepts
open Json
open Reader

(* ---------------------------------------------------------------- boxes *)

type span = Ends of Z.t * Z.t | Mask of Z.t

let meet one other =
  match one, other with
  | Ends (low, high), Ends (first, last) -> Ends (Z.max low first, Z.min high last)
  | Mask one, Mask other -> Mask (Z.logand one other)
  | _ -> invalid_arg "meet"

let is_empty = function Ends (low, high) -> Z.gt low high | Mask mask -> Z.sign mask = 0

type axis = { theory : C.axis; prices : C.price list; costs : (span, Z.t * Z.t) Hashtbl.t }

(* What the nearest index of a span that is not empty adds to the sum of the distance, and its part of the maximum. *)
let cost axis span =
  match Hashtbl.find_opt axis.costs span with
  | Some found -> found
  | None ->
      let found = match span with
        | Ends (low, high) -> C.least_cost axis.theory low high
        | Mask mask -> Option.get (C.least_price mask axis.prices) in
      Hashtbl.add axis.costs span found;
      found

let narrowed axis (total, largest) span inside =
  let before, _ = cost axis span and after, top = cost axis inside in
  (Z.add total (Z.sub after before), Z.max largest top)

(* [alive]: the leaves of each tree that are left, as a mask over those that the root reaches. [sums]: for each comparison the sum
   of the best margins of these. [parts]: of the goal, those that are open. [cliques]: how many there are; [known]: trees whose
   leaves are marked with their numbers, from 1. *)
type state = {
  parts : int list; box : span array; total : Z.t; largest : Z.t; empty : bool; alive : Z.t array; sums : Z.t array;
  cliques : int; known : Z.t list C.knowledge Lazy.t }

type leaf = { number : int; sides : (int * span) list; scores : Z.t list; margins : Z.t array }

type comparing = {
  compare : C.comparison0;
  needed : Z.t;  (* what the sum of margins has to reach so that the comparison may hold, in units of the scores *)
  in_floats : Z.t;  (* and in those of floats *)
  best : (Z.t * int) list array }  (* for each tree the margins of its leaves, the best first *)

type walk = {
  s : C.statement; goal : C.comparison0 list array; unit : Z.t; model : model; features : C.feature array; sides : side array; axes : axis array;
  limit : Z.t option; last : C.q option Lazy.t;  (* the claim, in units; and what bounds have to be above, by 2.8 *)
  named : bool;  (* whether nodes name leaves: not in format 1 *)
  leaves : leaf array array; numbers : (int, int) Hashtbl.t array; comparing : comparing array;
  shapes : Z.t list C.cut_tree list Lazy.t; order : int list array Lazy.t;  (* for each tree its leaves, from the left to the right *)
  begin_ : int array; nodes : Json.t array; mutable next : int }

let beyond limit (total, largest) = match limit with Some limit -> Z.geq (Z.add total largest) limit | None -> false

let narrow w state j span =
  let box = Array.copy state.box in
  box.(j) <- span;
  if is_empty span then { state with box; empty = true }
  else
    let total, largest = narrowed w.axes.(j) (state.total, state.largest) state.box.(j) span in
    { state with box; total; largest }

let ranges w state =
  Array.to_list
    (Array.mapi
       (fun j span ->
         match span with
         | Ends (low, high) -> C.interval_range w.axes.(j).theory low high
         | Mask mask -> C.levels_range mask w.axes.(j).prices)
       state.box)

(* ---------------------------------------------------------------- leaves *)

(* The leaves of a tree that the root reaches. *)
let reached s model axes limit (root : state) compares t =
  let data = match model.raw.(t) with Object tree -> tree | _ -> [] in
  let part name = items (List.assoc name data) name in
  let column = part "column" and value = part "value" in
  let left = part "left" and right = part "right" in
  let leading = model.leading t in
  let unit = s.C.unit0 in
  let scores n =
    Array.to_list (items value.(n) "value")
    |> List.map (fun x -> let m, e = floating x "value" in C.stored s (Z.shift_left m (Z.to_int (Z.add unit e)))) in
  let found = ref [] in
  let rec go n sides distance =
    if not (beyond limit distance) then
      match column.(n) with
      | Whole c when Z.sign c < 0 ->
          let scores = scores n in
          found := { number = n; sides; scores; margins = Array.map (fun c -> C.margin c scores) compares } :: !found
      | _ ->
          let child data =
            let k = int_of data 0 max_nodes "child" in
            match Hashtbl.find_opt leading k with
            | None -> go k sides distance
            | Some (j, side) ->
                let j = Nats.count j in
                let span = match List.assoc_opt j sides with Some span -> span | None -> root.box.(j) in
                let side = match side, span with
                  | C.Under k, Ends (low, _) -> Ends (low, k)
                  | C.Over k, Ends (_, high) -> Ends (Z.succ k, high)
                  | C.Within mask, _ -> Mask mask
                  | _ -> invalid_arg "side" in
                let inside = meet span side in
                if inside = span then go k sides distance
                else if not (is_empty inside) then
                  go k ((j, inside) :: List.remove_assoc j sides) (narrowed axes.(j) distance span inside) in
          child left.(n);
          child right.(n) in
  go 0 [] (root.total, root.largest);
  Array.of_list (List.rev !found)

(* The theory's tree, where a test without a cut is on no axis: both of its sides may hold any index. And the numbers of its leaves,
   from the left to the right. *)
let blurred s model t shape =
  let data = match model.raw.(t) with Object tree -> tree | _ -> [] in
  let part name = items (List.assoc name data) name in
  let column = part "column" and left = part "left" and right = part "right" in
  let leading = model.leading t and columns = Array.of_list s.C.columns in
  let nowhere = nat (List.length s.C.features) in
  let order = ref [] in
  let rec at n shape =
    let child data = int_of data 0 max_nodes "child" in
    match shape with
    | C.CutLeaf _ -> order := n :: !order; shape
    | C.Cut (j, cut, far, least, big, l, r) ->
        let one, other = (child left.(n), child right.(n)) in
        let known = Hashtbl.mem leading one in
        let one, other = if C.falls columns.(int_of column.(n) 0 max_nodes "column") then (other, one) else (one, other) in
        let l = at one l in
        C.Cut ((if known then j else nowhere), cut, far, least, big, l, at other r)
    | C.Sort (j, mask, prices, l, r) ->
        let l = at (child left.(n)) l in
        C.Sort (j, mask, prices, l, at (child right.(n)) r) in
  let made = at 0 shape in
  (made, List.rev !order)

(* No point of a state that is near enough lies in these sides. *)
let unreached w state sides =
  List.exists (fun (j, side) -> is_empty (meet state.box.(j) side)) sides
  || beyond w.limit
       (List.fold_left
          (fun distance (j, side) -> narrowed w.axes.(j) distance state.box.(j) (meet state.box.(j) side))
          (state.total, state.largest) sides)

let top comparing t alive =
  match List.find_opt (fun (_, k) -> Z.testbit alive k) comparing.best.(t) with Some (margin, _) -> margin | None -> Z.zero

(* A state without the leaves that are named, `[tree, leaf, ..]` each. *)
let prune w state where fields =
  let remove state data =
    let entry = items data where in
    need (Array.length entry > 0) "%s: expected a list of a tree and leaves" where;
    let t = int_of entry.(0) 0 (Array.length w.leaves - 1) where in
    let drop alive data =
      match Hashtbl.find_opt w.numbers.(t) (int_of data 0 max_nodes where) with
      | None -> refused "%s: the root does not reach this leaf" where
      | Some k ->
          need (unreached w state w.leaves.(t).(k).sides) "%s: leaf %d of tree %d can be reached" where w.leaves.(t).(k).number t;
          Z.logand alive (Z.lognot (two k)) in
    let before = state.alive.(t) in
    let after = Array.fold_left drop before (Array.sub entry 1 (Array.length entry - 1)) in
    let change k sum = Z.add sum (Z.sub (top w.comparing.(k) t after) (top w.comparing.(k) t before)) in
    let alive = Array.copy state.alive in
    alive.(t) <- after;
    { state with alive; sums = Array.mapi change state.sums; empty = state.empty || Z.sign after = 0 } in
  List.fold_left remove state fields

(* ---------------------------------------------------------------- nodes *)

(* How many children a node has and how many fields (None: any number), and whether it is about trees or about networks only. *)
let rules = [
  "split", (2, Some 2, None); "part", (2, Some 1, None); "near", (1, None, None); "empty", (0, Some 0, None); "distance", (0, Some 0, None);
  "changes", (0, Some 0, None); "avoid", (0, Some 1, None); "rule", (0, Some 1, None);
  "prune", (1, None, Some true); "trees", (0, None, Some true); "cell", (0, None, Some true); "prices", (0, None, Some true);
  "cliques", (1, None, Some true); "narrow", (1, None, Some true);
  "phase", (2, Some 2, Some false); "bounds", (1, None, Some false); "tighten", (1, None, Some false);
  "dual", (0, None, Some false)]

(* A test whose two sides a box meets, on the way from the root of a tree: the theory's cell has none. *)
let rec undecided (box : span array) = function
  | C.CutLeaf _ -> None
  | C.Cut (j, at, _, _, _, l, r) ->
      (match box.(Nats.count j) with
       | Ends (_, high) when Z.leq high at -> undecided box l
       | Ends (low, _) when Z.lt at low -> undecided box r
       | _ -> Some (j, at))
  | C.Sort (j, mask, _, l, r) ->
      (match box.(Nats.count j) with
       | Mask known when Z.sign (Z.logand known mask) = 0 -> undecided box r
       | Mask known when Z.equal (Z.logand known mask) known -> undecided box l
       | _ -> Some (j, mask))

(* Both sides of an index or of a mask. *)
let halves span at =
  match span with
  | Ends (low, high) -> (Ends (low, Z.min high at), Ends (Z.max low (Z.succ at), high))
  | Mask mask -> (Mask (Z.logand mask at), Mask (Z.logand mask (Z.lognot at)))

(* One leaf is left of each tree. What keeps others out may be their distance, which the theory's cell does not look at: the box
   is divided at the tests that lead to them, and what lies on their side is closed as "trees". *)
let rec cell w state =
  if is_out w state then C.Trees
  else
    match List.find_map (undecided state.box) (Lazy.force w.shapes) with
    | None -> C.Cell
    | Some (j, at) ->
        let axis = Nats.count j in
        let one, other = halves state.box.(axis) at in
        let first = cell w (narrow w state axis one) in
        C.Split (j, at, first, cell w (narrow w state axis other))

(* The one leaf of some tree is out of reach. *)
and is_out w state =
  state.empty
  || Array.exists Fun.id
       (Array.mapi (fun t alive -> unreached w state w.leaves.(t).(Z.trailing_zeros alive).sides) state.alive)

(* Indices of an axis that are too far go: each is in a box that the theory closes as "distance". *)
let near w state where data =
  let pair = items ~length:2 data where in
  let j = int_of pair.(0) 0 (Array.length w.axes - 1) where in
  let axis = w.axes.(j) and span = state.box.(j) in
  let others = Z.sub state.total (fst (cost axis span)) in
  let far part =
    need (is_empty part || let own, top = cost axis part in beyond w.limit (Z.add others own, top))
      "%s: axis %d has other indices that are near enough" where j in
  match box_side w.sides.(j) pair.(1) where, span with
  | C.Range (first, last), Ends (low, high) ->
      far (Ends (low, Z.min high (Z.pred first)));
      far (Ends (Z.max low (Z.succ last), high));
      let around rest = C.Split (nat j, Z.pred first, C.Distance, C.Split (nat j, last, rest, C.Distance)) in
      (narrow w state j (meet span (Ends (first, last))), around)
  | C.Mask mask, Mask known ->
      far (Mask (Z.logand known (Z.lognot mask)));
      (narrow w state j (Mask (Z.logand known mask)), fun rest -> C.Split (nat j, mask, rest, C.Distance))
  | _ -> refused "%s: no span" where

(* The parts of the goal that are open. *)
let open_goal w state = List.map (Array.get w.goal) state.parts

(* Whether a bound is enough. The theory takes distances between floats for multiples of a unit that divides those it looks at, and
   may be content with less than 2.8 asks for. *)
type enough = { by_format : bool; by_theory : bool }

(* What the prices of one part of the goal say in a state, by the theory's own bound and with the slack of 7.1. [trees]: None where
   a tree has no leaf that is near enough, so that the part closes. [least]: of each axis; [of_axis]: the least of any span of it. *)
type bound = { trees : Z.t option; least : Z.t array; of_axis : int -> span -> Z.t; enough : Z.t -> enough }

let range w j = function
  | Ends (low, high) -> C.interval_range w.axes.(j).theory low high
  | Mask mask -> C.levels_range mask w.axes.(j).prices

let bound w state part (given : C.pricing) where =
  (* What is needed is a whole number of floats' units: all is counted in these where it is none in those of the scores. *)
  let finer = 1074 - Z.to_int w.s.C.unit0 in
  let is_whole one = Z.equal (Z.shift_left one.needed finer) one.in_floats in
  let bits = if Array.for_all is_whole w.comparing then 0 else finer in
  let up n = Z.shift_left n bits in
  let needs (c : C.comparison0) =
    let found = List.find (fun one -> one.compare = c) (Array.to_list w.comparing) in
    let needed = if bits = 0 then found.needed else found.in_floats in
    (Z.sub needed (up (C.margin c (C.first_scores w.s))), fun leaf -> up (C.margin c leaf)) in
  let toll (t : C.toll) = { t with price_of = up t.price_of } in
  let rec scaled = function C.Blank -> C.Blank | C.Fork (here, odd, even) -> C.Fork (up here, scaled odd, scaled even) in
  let given = { given with scale0 = up given.scale0; top_shares = List.map up given.top_shares;
    tolls = List.map (List.map toll) given.tolls; of_cliques = scaled given.of_cliques } in
  need (C.sound_pricing given) "%s: the shares are more than 1" where;
  let needs = List.map needs part and box = ranges w state in
  let tolls = Array.of_list (C.by_axis (nat (Array.length w.axes)) (List.concat given.tolls)) in
  let shares = Array.of_list given.top_shares and pieces = Array.of_list given.pieces in
  let of_axis j span =
    let axis = w.axes.(j) in
    Option.get (C.range_least w.unit given.scale0 shares.(j) axis.theory tolls.(j) axis.prices (range w j span) pieces.(j)) in
  let best =
    if beyond w.limit (state.total, state.largest) then None
    else
      C.trees_best (C.net_worth given needs) w.limit (snd (Lazy.force state.known)) given.tolls box (C.sum_of box) (C.largest_of box) in
  let due = Z.sub (C.total_need given.multiply needs) (C.whole_price given.of_cliques) in
  let enough found = match w.limit, Lazy.force w.last with
    | Some q, Some last ->
        let needed = Z.mul last.C.qnum (Z.mul given.scale0 w.unit) in
        { by_format = Z.lt needed (Z.mul found last.C.qden); by_theory = Z.lt (Z.mul given.scale0 (Z.pred q)) found }
    | _ -> { by_format = true; by_theory = Z.sign given.scale0 = 0 && Z.sign found > 0 } in
  { trees = Option.map (fun best -> Z.mul w.unit (Z.sub due best)) best;
    least = Array.mapi of_axis state.box; of_axis; enough }

(* Prices for each open part of the goal, and what they say in the state. *)
let priced w state model where parts =
  let goal = open_goal w state in
  need (List.length parts = List.length goal) "%s: expected %d parts" where (List.length goal);
  if not w.named then raise (Not_covered "prices in format 1");
  if beyond w.limit (state.total, state.largest) && Array.length model.raw = 0 then raise (Not_covered "prices of no tree where all is too far");
  let read = List.map2 (fun part data -> pricing w.s model w.features state.cliques part data where) goal parts in
  (read, List.map2 (fun part given -> bound w state part given where) goal read)

(* Whether "missing", the last index, is allowed: the theory takes it for the nearest index above a cut, on whatever side of another
   one that is. *)
let may_lack (feature : C.feature) =
  match feature.absent, feature.domain_of with
  | Some (index, _), C.Between (_, last) -> Z.equal index last
  | _ -> false

let closed = { by_format = true; by_theory = true }

(* Whether each part of the goal closes. *)
let allow_none w where found =
  let by_format = List.for_all (fun one -> one.by_format) found in
  if not (by_format && List.for_all (fun one -> one.by_theory) found) then
    if by_format && Hints.parted w.s w.unit then
      raise (Not_covered "prices where all distances are multiples of more than one part of a whole")
    else if Array.exists may_lack w.features then raise (Not_covered "prices where a number may be missing")
    else refused "%s: the prices allow a point with the goal" where

let prices w state model where parts =
  let read, bounds = priced w state model where parts in
  let closes one = match one.trees with
    | None -> closed
    | Some trees -> one.enough (Array.fold_left Z.add trees one.least) in
  allow_none w where (List.map closes bounds);
  C.Prices read

(* Indices of axes on which the prices allow no point with the goal: each piece that goes is in a box of its own, where the same
   prices say no less than they do of the whole state with that axis alone narrowed. *)
let narrowing w state model where entries parts =
  let read, bounds = priced w state model where parts in
  let before = ref (-1) in
  let entry data where =
    let pair = items ~length:2 data where in
    let j = int_of pair.(0) 0 (Array.length w.axes - 1) where in
    need (j > !before) "%s: axes are not in order" where;
    before := j;
    (j, box_side w.sides.(j) pair.(1) where) in
  let entries = list_of entry entries where in
  let goes j part =
    let misses one = match one.trees with
      | None -> closed
      | Some trees ->
          let all = Array.fold_left Z.add trees one.least in
          one.enough (Z.add (Z.sub all one.least.(j)) (one.of_axis j part)) in
    not (is_empty part) && (allow_none w where (List.map misses bounds); true) in
  let close = C.Prices read in
  let cut (state, around) (j, side) =
    match side, state.box.(j) with
    | C.Range (first, last), (Ends (low, high) as span) ->
        let below = goes j (Ends (low, Z.min high (Z.pred first))) and above = goes j (Ends (Z.max low (Z.succ last), high)) in
        let inner rest = if above then C.Split (nat j, last, rest, close) else rest in
        let outer rest = if below then C.Split (nat j, Z.pred first, close, inner rest) else inner rest in
        (narrow w state j (meet span (Ends (first, last))), fun rest -> around (outer rest))
    | C.Mask mask, (Mask known as span) ->
        let out = goes j (Mask (Z.logand known (Z.lognot mask))) in
        let outer rest = if out then C.Split (nat j, mask, rest, close) else rest in
        (narrow w state j (meet span (Mask mask)), fun rest -> around (outer rest))
    | _ -> refused "%s: no span" where in
  List.fold_left cut (state, Fun.id) entries

(* Cliques, each given by the numbers of its leaves: where a point of the state may reach two leaves of one, the theory says so. *)
let cliques w state where fields =
  if not w.named then raise (Not_covered "cliques in format 1");
  let marks = Array.map (fun _ -> Hashtbl.create 16) w.leaves in
  let mark k field =
    let hold number =
      let t, n = Packed.place w.begin_ number where in
      need (Hashtbl.mem w.numbers.(t) n) "%s: the root does not reach leaf %d of tree %d" where n t;
      let before = Option.value (Hashtbl.find_opt marks.(t) n) ~default:[] in
      Hashtbl.replace marks.(t) n (Z.of_int (state.cliques + k + 1) :: before) in
    Array.iter hold (growing field where) in
  List.iteri mark fields;
  let marked t order = List.map (fun n -> List.rev (Option.value (Hashtbl.find_opt marks.(t) n) ~default:[])) order in
  let marks = Array.to_list (Array.mapi marked (Lazy.force w.order)) in
  let cliques = state.cliques + List.length fields in
  let till = Z.of_int (cliques + 1) in
  match C.learn (Lazy.force state.known) (ranges w state) till marks with
  | None -> refused "%s: a point may reach two leaves of one" where
  | Some known -> ({ state with cliques; known = Lazy.from_val known }, fun rest -> C.Cliques (till, marks, rest))

let rec node w state =
  let number = w.next in
  need (number < Array.length w.nodes) "node %d: the proof ends before everything is closed" number;
  w.next <- number + 1;
  let where = "node " ^ string_of_int number in
  let name, fields = match Array.to_list (items w.nodes.(number) where) with
    | Text name :: fields when List.mem_assoc name rules -> (name, fields)
    | _ -> refused "%s: no rule" where in
  let children, count, owner = List.assoc name rules in
  need (count = None || count = Some (List.length fields)) "%s: %s takes another number of fields" where name;
  let about_trees = match w.model with Trees _ -> true | Linear _ -> false in
  need (owner <> Some (not about_trees)) "%s: %s is not about this kind of model" where name;
  let where = where ^ ": " ^ name in
  let last = function [] -> Array.length w.features - 1 | l -> List.length l - 1 in
  let place l data = nat (int_of data 0 (last l) where) in
  if state.empty then begin
    if children = 2 then ignore (node w state);
    if children > 0 then node w state else if about_trees then C.Trees else C.Empty
  end else
    match name, fields, w.model with
    | "split", [j; at], _ ->
        let j = int_of j 0 (Array.length w.axes - 1) where in
        let at = match w.sides.(j) with Rank count -> whole at Z.zero (Z.pred (two count)) where | Grid _ -> any at where in
        let one, other = halves state.box.(j) at in
        let first = node w (narrow w state j one) in
        C.Split (nat j, at, first, node w (narrow w state j other))
    | "part", [k], _ ->
        let k = int_of k 0 (Array.length w.goal - 1) where in
        need (List.mem k state.parts) "%s: this part of the goal is not open" where;
        let others = List.filter (fun other -> other <> k) state.parts in
        let first = node w { state with parts = [k] } in
        C.Part (nat k, first, node w { state with parts = others; empty = others = [] })
    | "near", sides, _ -> all_near w state where sides
    | "empty", _, _ -> refused "%s: there are points in the box" where
    | "distance", _, _ ->
        need (beyond w.limit (state.total, state.largest)) "%s: the box has points nearer than the claim" where;
        C.Distance
    | "changes", _, _ -> C.Changes
    | "avoid", [k], _ -> need (w.s.C.avoid <> []) "%s: no region" where; C.Avoided (place w.s.C.avoid k)
    | "rule", [k], _ ->
        need (w.s.C.rules <> []) "%s: no rule" where;
        C.Rule (nat (int_of k 0 (List.length w.s.C.rules - 1) where))
    | "prune", entries, _ -> node w (if w.named then prune w state where entries else state)
    | "trees", entries, _ -> if w.named then sums w (prune w state where entries) where else C.Trees
    | "cell", entries, _ ->
        if not w.named then C.Cell
        else begin
          let state = prune w state where entries in
          need (w.s.C.ordered && Z.sign (fst w.s.C.error) = 0) "%s: the last bits of the model's scores are not known" where;
          let single alive = Z.popcount alive = 1 in
          need (state.empty || Array.for_all single state.alive) "%s: a tree has several leaves" where;
          if state.empty then C.Trees
          else begin
            let left = Array.mapi (fun t alive -> w.leaves.(t).(Z.trailing_zeros alive).scores) state.alive in
            need (not (C.some_part C.round_fast w.s (open_goal w state) (Array.to_list left))) "%s: the model has the goal in this cell" where;
            cell w state
          end
        end
    | "prices", parts, Trees model -> prices w state model where parts
    | "narrow", entries :: parts, Trees model ->
        let state, around = narrowing w state model where entries parts in
        around (node w state)
    | "narrow", [], _ -> refused "%s: expected a list of axes" where
    | "cliques", fields, _ ->
        let state, around = cliques w state where fields in
        around (node w state)
    | "dual", parts, _ ->
        need (List.length parts = List.length state.parts) "%s: expected %d parts" where (List.length state.parts);
        if w.limit = Some Z.zero && Hints.parts w.s [] = [] then raise (Not_covered "a dual below 0 where all distances are 0");
        C.Dual (List.map (fun part -> multipliers w.features part where) parts)
    | ("bounds" | "tighten"), [], _ -> node w state
    | _ -> refused "%s: there is no hidden unit" where

and all_near w state where = function
  | [] -> node w state
  | _ :: _ when state.empty -> node w state
  | side :: sides ->
      let state, around = near w state where side in
      around (all_near w state where sides)

(* Some comparison of each open part of the goal is missed by the best leaves that are left. *)
and sums w state where =
  let missed c =
    Array.exists Fun.id (Array.mapi (fun k one -> one.compare = c && Z.lt state.sums.(k) one.needed) w.comparing) in
  need (state.empty || List.for_all (List.exists missed) (open_goal w state)) "%s: a part of the goal can still be reached" where;
  C.Trees

(* ---------------------------------------------------------------- a whole proof *)

let rec distinct = function [] -> [] | c :: rest -> c :: distinct (List.filter (fun d -> d <> c) rest)

let proof s unit model features sides data ~named =
  let nodes = items data "proof" in
  within (Array.length nodes <= max_nodes) "more than %d nodes of the proof" max_nodes;
  let axis f =
    let theory = C.axis_of s unit f in
    { theory; prices = C.prices_of theory; costs = Hashtbl.create 64 } in
  let axes = Array.map axis features in
  let limit = C.limit_of s unit and last = lazy (Option.map (Hints.last_below s) s.C.closer_than) in
  let whole f = match f.C.domain_of with C.Between (low, high) -> Ends (low, high) | C.Among mask -> Mask mask in
  let box = Array.map whole features in
  let costs = Array.mapi (fun j span -> cost axes.(j) span) box in
  let total = Array.fold_left (fun sum (own, _) -> Z.add sum own) Z.zero costs in
  let largest = Array.fold_left (fun most (_, top) -> Z.max most top) Z.zero costs in
  let goal = Array.of_list s.C.goal in
  let root = { parts = List.init (Array.length goal) Fun.id; box; total; largest; empty = false; alive = [||]; sums = [||];
    cliques = 0; known = lazy (C.unmarked []) } in
  let compares = Array.of_list (distinct (List.concat s.C.goal)) in
  let leaves = match model with
    | Trees model when named -> Array.init (Array.length model.raw) (reached s model axes limit root compares)
    | _ -> [||] in
  let places found =
    let numbers = Hashtbl.create 64 in
    Array.iteri (fun k leaf -> Hashtbl.add numbers leaf.number k) found;
    numbers in
  let numbers = Array.map places leaves in
  let ranked k found =
    let margins = Array.to_list (Array.mapi (fun i leaf -> (leaf.margins.(k), i)) found) in
    List.sort (fun (a, _) (b, _) -> Z.compare b a) margins in
  let comparing = match model with
    | Trees _ when named ->
        Array.mapi
          (fun k compare ->
            let needed, in_floats = Slack.threshold s compare in
            { compare; needed; in_floats; best = Array.map (ranked k) leaves })
          compares
    | _ -> [||] in
  let alive = Array.map (fun found -> Z.pred (two (Array.length found))) leaves in
  let sum one = Array.fold_left Z.add (C.margin one.compare (C.first_scores s)) (Array.mapi (top one) alive) in
  let root = { root with alive; sums = Array.map sum comparing; empty = Array.exists (fun a -> Z.sign a = 0) alive } in
  let shapes = lazy (
    let priced = Array.to_list (Array.map (fun a -> (a.theory, a.prices)) axes) in
    match C.all (List.map (C.cut_tree_of s priced) s.C.trees) with
    | Some shapes -> shapes
    | None -> refused "cuts: a test is cut elsewhere") in
  let both = lazy (
    match model with
    | Trees model when named -> List.mapi (blurred s model) (Lazy.force shapes)
    | _ -> []) in
  let root = { root with known = lazy (C.unmarked (List.map fst (Lazy.force both))) } in
  let order = lazy (Array.of_list (List.map snd (Lazy.force both))) in
  let begin_ = match model with Trees model -> Packed.begins model.raw | Linear _ -> [||] in
  let w = { s; goal; unit; model; features; sides; axes; limit; last; named; leaves; numbers; comparing; shapes; order; begin_; nodes; next = 0 } in
  let made = node w root in
  need (w.next = Array.length nodes) "node %d: the proof is complete before it" w.next;
  made

(* The indices at which nodes end a span: a hint for the unit of distances. *)
let ends data =
  let found = ref [] in
  let add j i = match j, i with Whole j, Whole i when Z.fits_int j -> found := (Z.to_int j, i) :: !found | _ -> () in
  let entry = function List [|j; List ends|] -> Array.iter (add j) ends | _ -> () in
  let node = function
    | List [|Text "split"; j; at|] -> add j at
    | List sides when Array.length sides > 0 && sides.(0) = Text "near" -> Array.iter entry sides
    | List fields when Array.length fields > 1 && fields.(0) = Text "narrow" ->
        (match fields.(1) with List sides -> Array.iter entry sides | _ -> ())
    | _ -> () in
  (match data with List nodes -> Array.iter node nodes | _ -> ());
  !found
