(* What the checked theory takes as a hint and judges itself: where tests cut the axes, and the unit of distances. A wrong
   hint can only lead to a refusal. *)

module C = Accepts

let two n = Z.shift_left Z.one n

(* The index of a float among those of its type: the largest whose value is at most the number, in units of 2^-1074. *)
let rank_floor bits low number =
  let size = Z.shift_right (Z.abs number) low in
  let exponent = max (Z.numbits size - bits - 1) 0 in
  let rank = Z.add (Z.shift_left (Z.of_int exponent) bits) (Z.shift_right size exponent) in
  if Z.sign number >= 0 then rank
  else
    let exact = Z.equal (C.float_of_rank (Z.of_int bits) (Z.of_int low) (Z.neg rank)) number in
    if exact then Z.neg rank else Z.pred (Z.neg rank)

(* About the last index whose value is at most the number, in units of 2^-1074. *)
let index_near kind number =
  match kind with
  | C.Step (step, d, extra) ->
      let index = Z.fdiv (Z.shift_right (Z.mul number d) 1074) step in
      (match extra with Some e when Z.gt index (Z.fdiv e step) -> Z.succ index | _ -> index)
  | C.Float32 -> rank_floor 23 925 number
  | _ -> rank_floor 52 0 number

(* Halfway between neighbouring float32 is where the rounding of an input turns. *)
let boundary s threshold =
  if not s.C.cast_to_float32 then threshold
  else
    let value rank = C.float_of_rank (Z.of_int 23) (Z.of_int 925) rank in
    let rank = rank_floor 23 925 threshold in
    Z.shift_right (Z.add (value rank) (value (Z.succ rank))) 1

(* The last index before the answer of a test changes; 0 where the axis has levels. *)
let cut s features columns =
  let known = Hashtbl.create 1024 in
  let search column threshold =
    let f = features.(Nats.count (C.feature_of column)) in
    match f.C.domain_of with
    | C.Among _ -> Z.zero
    | C.Between (lower, upper) ->
        let falls = C.falls column in
        let before i = C.passes_fast s (C.Below threshold) (C.column_fast f column i) <> falls in
        let guess = index_near f.C.kind_of (boundary s (C.units threshold)) in
        (* Invariant: low is before the change or below the axis, high is not, or above it. *)
        let rec close low high =
          if Z.leq (Z.sub high low) Z.one then low
          else begin
            let inside i = Z.lt low i && Z.lt i high in
            let middle = Z.shift_right (Z.add low high) 1 in
            let probe = if inside guess then guess else if Z.equal low guess then Z.succ guess else middle in
            if before probe then close probe high else close low probe
          end in
        close (Z.pred lower) (Z.succ upper) in
  fun c question ->
    match question with
    | C.Member _ -> Z.zero
    | C.Below threshold ->
        (match Hashtbl.find_opt known (c, threshold) with
         | Some found -> found
         | None ->
             let found = search columns.(c) threshold in
             Hashtbl.add known (c, threshold) found;
             found)

(* ---------------------------------------------------------------- the unit of distances *)

let q_one = { C.qnum = Z.one; qden = Z.one }

module Indices = Set.Make (Z)

(* The indices where a split or a test may end a range, for each feature. *)
let ends s proof =
  let found = Array.make (List.length s.C.features) Indices.empty in
  let add j i = found.(j) <- Indices.add i (Indices.add (Z.succ i) found.(j)) in
  let columns = Array.of_list s.C.columns in
  let rec of_tree = function
    | C.Leaf _ -> ()
    | C.Node (c, _, cut, l, r) ->
        add (Nats.count (C.feature_of columns.(Nats.count c))) cut;
        of_tree l;
        of_tree r in
  List.iter of_tree s.C.trees;
  let rec of_proof = function
    | C.Split (j, at, first, second) -> add (Nats.count j) at; of_proof first; of_proof second
    | _ -> () in
  of_proof proof;
  found

(* A common denominator of what the axes cost at every end of a range. *)
let cost_unit s proof =
  let unit = ref Z.one in
  let times a b = C.qred (C.qmult a b) in
  let add q = unit := Z.lcm !unit (C.qred q).C.qden in
  let one f ends =
    let at factor delta = add (times factor (times f.C.weight delta)) in
    let both delta = at s.C.beta delta; at s.C.gamma delta in
    at s.C.alpha q_one;
    (match f.C.absent with Some (_, cost) -> both cost | None -> ());
    match f.C.domain_of, f.C.kind_of with
    | C.Between (lower, upper), _ ->
        let inside = Indices.filter (fun i -> Z.leq lower i && Z.leq i upper) ends in
        let present i = C.across f i = None in
        Indices.iter (fun i -> if present i then both (C.delta f i)) (Indices.add lower (Indices.add upper inside));
        (match f.C.absent with Some (m, _) when present (Z.pred m) -> both (C.delta f (Z.pred m)) | _ -> ())
    | _, C.Ordinal steps -> both { C.qnum = Z.one; qden = steps }
    | _ -> both q_one in
  let all = ends s proof in
  List.iteri (fun j f -> one f all.(j)) s.C.features;
  !unit
