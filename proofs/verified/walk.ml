(* Sections 5 and 6 of FORMAT.md: from the nodes of a certificate to a proof of the theory.

   Nothing here is trusted. The theory's proofs say less than nodes do: the theory looks for the leaves that a box reaches, where a
   node names those that it does not. This file follows the nodes as FORMAT.md says, refuses what does not fit, and hands over a
   proof that the theory judges. Only what both accept is accepted; what this file follows and the theory does not is "not
   covered", and [blame] says at which leaf. *)

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
   of the best margins of these. *)
type state = { box : span array; total : Z.t; largest : Z.t; empty : bool; alive : Z.t array; sums : Z.t array }

type leaf = { number : int; sides : (int * span) list; scores : Z.t list; margins : Z.t array }

type comparing = {
  compare : C.comparison0;
  needed : Z.t;  (* what the sum of margins has to reach so that the comparison may hold, in units of the scores *)
  in_floats : Z.t;  (* and in those of floats *)
  best : (Z.t * int) list array }  (* for each tree the margins of its leaves, the best first *)

type walk = {
  s : C.statement; unit : Z.t; model : model; features : C.feature array; sides : side array; axes : axis array;
  limit : Z.t option; named : bool;  (* whether nodes name leaves: not in format 1 *)
  leaves : leaf array array; numbers : (int, int) Hashtbl.t array; comparing : comparing array;
  shapes : Z.t list C.cut_tree list Lazy.t; blurred : Z.t list C.cut_tree list Lazy.t; nodes : Json.t array; mutable next : int }

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

(* ---------------------------------------------------------------- the slack of 7.1 *)

let power n = if n >= 0 then Q.of_bigint (two n) else Q.inv (Q.of_bigint (two (-n)))
let of_float (m, e) = Q.mul (Q.of_bigint m) (power (Z.to_int e))
let gamma digits operations =
  let error = Q.mul (Q.of_int operations) (power (-digits)) in
  need (Q.lt error Q.one) "statement: too many additions for a rounding bound";
  Q.div error (Q.sub Q.one error)

let rec leaves_of = function C.Leaf values -> [values] | C.Node (_, _, _, l, r) -> List.rev_append (leaves_of l) (leaves_of r)

(* How far the exact sums of a float comparison that holds may lie below it, and of one that fails above it. *)
let slack s (c : C.comparison0) =
  let sides = List.map Nats.count (List.filter_map Fun.id [c.plus; c.minus]) in
  let two_sides = List.length sides = 2 in
  let digits = Z.to_int (C.precision s) in
  let smallest = power (if s.C.sums_in_float32 then -126 else -1022) in
  let bits = ref Z.zero in
  let size_of values =
    let parts = List.map (List.nth values) sides in
    List.iter (fun v -> bits := Z.logor !bits v) parts;
    List.fold_left (fun sum v -> Z.add sum (Z.abs v)) Z.zero parts in
  let first = C.first_scores s in
  let of_tree t =
    List.fold_left (fun most values -> Z.max most (size_of (List.map (C.stored s) values))) Z.zero (leaves_of t) in
  let sizes = List.map of_tree s.C.trees in
  let size = List.fold_left Z.add (size_of first) sizes in
  let grain = Z.logand !bits (Z.neg !bits) in
  let real n = Q.mul (Q.of_bigint n) (power (- (Z.to_int s.C.unit0))) in
  let terms = List.length s.C.trees + if List.exists (fun k -> Z.sign (List.nth first k) <> 0) sides then 1 else 0 in
  let room = power (if s.C.sums_in_float32 then 127 else 1023) in
  need (Q.lt (Q.mul (real size) (Q.add Q.one (gamma digits (terms + 1)))) room) "statement: model: sums may overflow";
  let exact = Z.leq size (Z.shift_left grain digits) in
  let summing = if exact then Q.zero else Q.mul (gamma digits (max (terms - 1) 0)) (real size) in
  let divide = Q.of_bigint s.C.divide in
  let halved = Z.popcount s.C.divide = 1 && Q.geq (Q.div (real grain) divide) smallest in
  let loose, tight =
    if Z.equal s.C.divide Z.one || (exact && halved) then (Q.zero, Q.zero)
    else begin
      let rounding = Q.mul (Q.mul (power (1 - digits)) (real size)) (Q.add Q.one (gamma digits terms)) in
      let error = Q.add rounding (Q.mul (Q.mul (Q.of_int 2) divide) smallest) in
      if two_sides && Q.gt (real grain) error then (Q.zero, Q.zero)
      else ((if two_sides && c.strict then Q.zero else error), if two_sides && not c.strict then Q.zero else error)
    end in
  let squashed = Q.mul (Q.mul (Q.of_bigint s.C.squash) (power (-digits))) divide in
  let outside = Q.add squashed (Q.mul (of_float s.C.error) (Q.of_int (List.length sides))) in
  (Q.add (Q.add summing loose) outside, Q.add (Q.add summing tight) outside)

(* The least sum of margins with which a comparison may hold, in units of the scores and in those of floats, 2^-1074: whole
   numbers both. *)
let threshold s (c : C.comparison0) =
  let slack, _ = slack s c in
  let least = Q.sub (Q.mul (of_float c.than) (Q.of_bigint s.C.divide)) slack in
  let whole unit =
    let least = Q.mul least (power unit) in
    if Q.equal slack Q.zero && c.strict then Z.succ (Z.fdiv least.num least.den) else Z.cdiv least.num least.den in
  (whole (Z.to_int s.C.unit0), whole 1074)

(* Whether the scores of an ensemble certainly have the goal at a point, by 7.1; what the float sums decide is the theory's. *)
let certain s point =
  let repeated = s.C.ordered && Z.sign (fst s.C.error) = 0 && Z.sign s.C.squash = 0 in
  let leaves = lazy (List.map (C.leaf_fast s point) s.C.trees) in
  let holds (c : C.comparison0) =
    let _, slack = slack s c in
    let sum = List.fold_left (fun sum l -> Z.add sum (C.margin c l)) (C.margin c (C.first_scores s)) (Lazy.force leaves) in
    let margin = Q.sub (Q.mul (Q.of_bigint sum) (power (- (Z.to_int s.C.unit0)))) (Q.mul (of_float c.than) (Q.of_bigint s.C.divide)) in
    Q.gt margin slack || (Q.equal slack Q.zero && (not c.strict) && Q.equal margin Q.zero) in
  repeated || List.exists (List.for_all holds) s.C.goal

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

(* The theory's tree, where a test without a cut is on no axis: both of its sides may hold any index. *)
let blurred s model t shape =
  let data = match model.raw.(t) with Object tree -> tree | _ -> [] in
  let part name = items (List.assoc name data) name in
  let column = part "column" and left = part "left" and right = part "right" in
  let leading = model.leading t and columns = Array.of_list s.C.columns in
  let nowhere = nat (List.length s.C.features) in
  let rec at n shape =
    let child data = int_of data 0 max_nodes "child" in
    match shape with
    | C.CutLeaf _ -> shape
    | C.Cut (j, cut, far, least, big, l, r) ->
        let one, other = (child left.(n), child right.(n)) in
        let known = Hashtbl.mem leading one in
        let one, other = if C.falls columns.(int_of column.(n) 0 max_nodes "column") then (other, one) else (one, other) in
        C.Cut ((if known then j else nowhere), cut, far, least, big, at one l, at other r)
    | C.Sort (j, mask, prices, l, r) -> C.Sort (j, mask, prices, at (child left.(n)) l, at (child right.(n)) r) in
  at 0 shape

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
  "split", (2, Some 2, None); "near", (1, None, None); "empty", (0, Some 0, None); "distance", (0, Some 0, None);
  "changes", (0, Some 0, None); "avoid", (0, Some 1, None); "rule", (0, Some 1, None);
  "prune", (1, None, Some true); "trees", (0, None, Some true); "cell", (0, None, Some true); "prices", (0, None, Some true);
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

(* Prices by the theory's own bound, with the slack of 7.1. *)
let prices w state model where parts =
  let goal = w.s.C.goal in
  need (List.length parts = List.length goal) "%s: expected %d parts" where (List.length goal);
  let far = beyond w.limit (state.total, state.largest) in  (* then no tree has a leaf that is near enough *)
  if far && Array.length model.raw = 0 then raise (Not_covered "prices of no tree where all is too far");
  let read = List.map2 (fun part data -> pricing w.s model w.features part data where) goal parts in
  let axes = Array.to_list (Array.map (fun a -> (a.theory, a.prices)) w.axes) in
  let box = ranges w state in
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
  let closed part (given : C.pricing) =
    let given = { given with scale0 = up given.scale0; top_shares = List.map up given.top_shares;
      tolls = List.map (List.map toll) given.tolls } in
    C.prices_close w.unit axes w.limit (Lazy.force w.blurred) box (List.map needs part) given in
  if not (far || List.for_all2 closed goal read) then
    if Hints.parted w.s w.unit then raise (Not_covered "prices where all distances are multiples of more than one part of a whole")
    else refused "%s: the prices allow a point with the goal" where;
  C.Prices read

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
          need (state.empty || Array.for_all (fun alive -> Z.popcount alive = 1) state.alive) "%s: a tree has several leaves" where;
          if state.empty then C.Trees
          else begin
            let left = Array.mapi (fun t alive -> w.leaves.(t).(Z.trailing_zeros alive).scores) state.alive in
            need (not (C.decides C.round_fast w.s (Array.to_list left))) "%s: the model has the goal in this cell" where;
            cell w state
          end
        end
    | "prices", parts, Trees model -> prices w state model where parts
    | "dual", parts, _ -> C.Dual (List.map (fun part -> multipliers w.features part where) parts)
    | ("bounds" | "tighten"), [], _ -> node w state
    | _ -> refused "%s: there is no hidden unit" where

and all_near w state where = function
  | [] -> node w state
  | _ :: _ when state.empty -> node w state
  | side :: sides ->
      let state, around = near w state where side in
      around (all_near w state where sides)

(* Some comparison of each part of the goal is missed by the best leaves that are left. *)
and sums w state where =
  let missed c =
    Array.exists Fun.id (Array.mapi (fun k one -> one.compare = c && Z.lt state.sums.(k) one.needed) w.comparing) in
  need (state.empty || List.for_all (List.exists missed) w.s.C.goal) "%s: a part of the goal can still be reached" where;
  C.Trees

(* ---------------------------------------------------------------- a whole proof *)

let rec distinct = function [] -> [] | c :: rest -> c :: distinct (List.filter (fun d -> d <> c) rest)

let proof s unit model features sides data ~named =
  let nodes = items data "proof" in
  within (Array.length nodes <= max_nodes) "more than %d nodes of the proof" max_nodes;
  let axes = Array.map (fun f -> let a = C.axis_of s unit f in { theory = a; prices = C.prices_of a; costs = Hashtbl.create 64 }) features in
  let limit = C.limit_of s unit in
  let box = Array.map (fun f -> match f.C.domain_of with C.Between (low, high) -> Ends (low, high) | C.Among mask -> Mask mask) features in
  let costs = Array.mapi (fun j span -> cost axes.(j) span) box in
  let total = Array.fold_left (fun sum (own, _) -> Z.add sum own) Z.zero costs in
  let largest = Array.fold_left (fun most (_, top) -> Z.max most top) Z.zero costs in
  let root = { box; total; largest; empty = false; alive = [||]; sums = [||] } in
  let compares = Array.of_list (distinct (List.concat s.C.goal)) in
  let leaves = match model with
    | Trees model when named -> Array.init (Array.length model.raw) (reached s model axes limit root compares)
    | _ -> [||] in
  let numbers = Array.map (fun found ->
    let numbers = Hashtbl.create 64 in
    Array.iteri (fun k leaf -> Hashtbl.add numbers leaf.number k) found;
    numbers) leaves in
  let ranked k found = List.sort (fun (a, _) (b, _) -> Z.compare b a) (Array.to_list (Array.mapi (fun i leaf -> (leaf.margins.(k), i)) found)) in
  let comparing = match model with
    | Trees _ when named ->
        Array.mapi
          (fun k compare ->
            let needed, in_floats = threshold s compare in
            { compare; needed; in_floats; best = Array.map (ranked k) leaves })
          compares
    | _ -> [||] in
  let alive = Array.map (fun found -> Z.pred (two (Array.length found))) leaves in
  let sum one = Array.fold_left Z.add (C.margin one.compare (C.first_scores s)) (Array.mapi (fun t alive -> top one t alive) alive) in
  let root = { root with alive; sums = Array.map sum comparing; empty = Array.exists (fun a -> Z.sign a = 0) alive } in
  let shapes = lazy (
    let priced = Array.to_list (Array.map (fun a -> (a.theory, a.prices)) axes) in
    match C.all (List.map (C.cut_tree_of s priced) s.C.trees) with
    | Some shapes -> shapes
    | None -> refused "cuts: a test is cut elsewhere") in
  let blurred = lazy (
    match model with
    | Trees model when named -> List.mapi (blurred s model) (Lazy.force shapes)
    | _ -> Lazy.force shapes) in
  let w = { s; unit; model; features; sides; axes; limit; named; leaves; numbers; comparing; shapes; blurred; nodes; next = 0 } in
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
    | _ -> () in
  (match data with List nodes -> Array.iter node nodes | _ -> ());
  !found

(* ---------------------------------------------------------------- where the theory does not follow *)

let not_covered form = Printf.ksprintf (fun words -> raise (Not_covered words)) form

(* A region `near` about an axis that has "missing" is not of the theory. *)
let is_lacking s = function
  | C.Near _ -> List.exists (fun f -> f.C.absent <> None && (match f.C.domain_of with C.Between _ -> true | _ -> false)) s.C.features
  | _ -> false

(* Raised where this file accepts and the theory does not: "not covered" if the theory alone is to blame, else refused. *)
let blame s model (c : C.certificate) witness =
  let lacking = List.exists (is_lacking s) s.C.avoid in
  (match witness with
   | Some (point, far) when lacking && not (C.is_there s point far) -> not_covered "regions around a point where numbers may be missing"
   | Some (point, far) -> need (C.is_there s point far) "witness: it is not allowed, or not at this distance"
   | None -> ());
  match model with
  | Linear _ -> if lacking then not_covered "regions around a point where numbers may be missing" else refused "the theory's checker says no"
  | Trees _ ->
      (match witness with
       | Some (point, far) when not (C.check_witness s point far) ->
           let repeated = s.C.ordered && Z.sign (fst s.C.error) = 0 && Z.sign s.C.squash = 0 in
           if repeated then refused "witness: the model may not say so there"
           else not_covered "a witness within the theory's own slack"
       | _ -> ());
      if List.exists (List.exists (fun c -> not (C.sums_stay_finite s c))) s.C.goal then not_covered "sums that may overflow by the theory's own bound";
      need (C.well_formed s c.cost_unit) "statement: columns: a value overflows";
      let axes = C.axes_of s c.cost_unit and limit = C.limit_of s c.cost_unit in
      let shapes = match C.all (List.map (C.cut_tree_of s axes) s.C.trees) with
        | Some shapes -> shapes
        | None -> refused "cuts: a test is cut elsewhere" in
      let opponents = List.map (List.map (fun c -> C.opponent s shapes (C.may s c))) s.C.goal in
      let closed = C.check_leaf s axes limit (C.closes s c.cost_unit axes limit shapes opponents) in
      let rec find p box =
        match p with
        | C.Split (j, at, first, second) ->
            let a, prices = List.nth axes (Nats.count j) in
            let into half = C.set j half box in
            (match List.nth box (Nats.count j) with
             | C.Interval (low, high, _, _) ->
                 find first (into (C.interval_range a low (Z.min high at)));
                 find second (into (C.interval_range a (Z.max low (Z.succ at)) high))
             | C.Levels (mask, _, _) ->
                 find first (into (C.levels_range (Z.logand mask at) prices));
                 find second (into (C.levels_range (Z.logand mask (Z.lognot at)) prices)))
        | _ when closed p box -> ()
        | C.Trees -> not_covered "a sum of trees within the theory's own slack"
        | C.Prices _ -> not_covered "prices within the theory's own slack"
        | C.Distance -> not_covered "a distance of floats that the theory rounds"
        | C.Avoided k when is_lacking s (List.nth s.C.avoid (Nats.count k)) ->
            not_covered "regions around a point where numbers may be missing"
        | C.Avoided k -> refused "avoid: the box is not inside region %d" (Nats.count k)
        | C.Rule k -> refused "rule: rule %d can hold in the box" (Nats.count k)
        | C.Changes -> refused "changes: too few features must change"
        | C.Cell -> refused "cell: the model has the goal in this cell"
        | C.Dual _ | C.Empty -> refused "there are points in the box" in
      find c.proof_of (List.map (fun (a, _) -> C.root_range a) axes);
      refused "the theory's checker says no"

(* ---------------------------------------------------------------- a certificate *)

let certificate data =
  List.iter (fun (name, words) -> if has data name then raise (Not_covered words)) ["mace_set", "sets"; "mace_rows", "rows"; "mace_plan", "plans"];
  let names = ["mace_certificate"; "statement"; "witness"; "proof"] in
  let names = if has data "cuts" then "cuts" :: names else names in
  let field = fields data (if has data "about" then "about" :: names else names) "the certificate" in
  let format = if has data "cuts" then 2 else 1 in
  need (match field "mace_certificate" with Whole n -> Z.equal n (Z.of_int format) | _ -> false)
    "the certificate: unknown format";
  let named = format = 2 in
  let s, model, features, sides = statement (field "statement") (if named then Some (field "cuts") else None) in
  let witness = match field "witness" with
    | Null -> None
    | data ->
        let field = fields data ["point"; "distance"] "witness" in
        Some (point features sides (field "point") "witness: point", rational (field "distance") "witness: distance") in
  let unit = Hints.cost_unit s (ends (field "proof")) in
  let made = proof s unit model features sides (field "proof") ~named in
  (match witness, model with
   | Some (point, _), Trees _ when named -> need (certain s point) "witness: the model may not say so there"
   | _ -> ());
  (s, model, { C.cost_unit = unit; proof_of = made }, witness)
