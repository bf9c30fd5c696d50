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

(* The indices where a split, [given] as (feature, index), or a test may end a range, for each feature. *)
let ends s given =
  let found = Array.make (List.length s.C.features) Indices.empty in
  let add j i = if 0 <= j && j < Array.length found then found.(j) <- Indices.add i (Indices.add (Z.pred i) (Indices.add (Z.succ i) found.(j))) in
  let columns = Array.of_list s.C.columns in
  let rec of_tree = function
    | C.Leaf _ -> ()
    | C.Node (c, _, cut, l, r) ->
        add (Nats.count (C.feature_of columns.(Nats.count c))) cut;
        of_tree l;
        of_tree r in
  List.iter of_tree s.C.trees;
  List.iter (fun (j, i) -> add j i) given;
  found

(* Numbers of which every distance that is looked at is a sum of multiples: for steps and levels those of all indices, for floats
   those of the ends of ranges, or, with [all_floats], those of all indices too. *)
let parts ?(all_floats = false) s given =
  let found = ref [] in
  let times a b = C.qred (C.qmult a b) in
  let add q = if Z.sign q.C.qnum <> 0 then found := C.qred q :: !found in
  let all = lazy (ends s given) in
  let one j f =
    let moved delta = let q = times f.C.weight delta in add (times s.C.beta q); add (times s.C.gamma q) in
    let lost cost =
      if Z.sign cost.C.qnum <> 0 then begin
        let q = times f.C.weight cost in
        add (C.qplus (times s.C.alpha f.C.weight) (times s.C.beta q));
        add (times s.C.gamma q)
      end in
    let stays = match f.C.domain_of with
      | C.Between (lower, upper) -> Z.equal lower f.C.start && Z.equal upper f.C.start
      | C.Among mask -> Z.equal mask (two (Z.to_int f.C.start)) in
    if not stays then begin
      Option.iter (fun (_, cost) -> lost cost) f.C.absent;
      if not (match f.C.absent with Some (m, _) -> Z.equal m f.C.start | None -> false) then begin
        add (times s.C.alpha f.C.weight);
        match f.C.kind_of, f.C.domain_of with
        | C.Step (step, d, extra), _ ->
            let stride = match extra with Some e -> Z.gcd step e | None -> step in
            moved (times { C.qnum = stride; qden = d } { C.qnum = f.C.scale.C.qden; qden = f.C.scale.C.qnum })
        | C.Ordinal steps, _ -> moved { C.qnum = Z.one; qden = steps }
        | C.Nominal, _ -> moved q_one
        | _, C.Between _ when all_floats ->
            moved (times { C.qnum = Z.one; qden = two 1074 } { C.qnum = f.C.scale.C.qden; qden = f.C.scale.C.qnum })
        | _, C.Between (lower, upper) ->
            let inside = Indices.filter (fun i -> Z.leq lower i && Z.leq i upper) (Lazy.force all).(j) in
            let present i = C.across f i = None in
            let below = match f.C.absent with Some (m, _) -> Z.pred m | None -> upper in
            Indices.iter (fun i -> if present i then moved (C.delta f i)) (Indices.add lower (Indices.add below inside))
        | _ -> ()
      end
    end in
  List.iteri one s.C.features;
  !found

(* A common denominator of these. *)
let cost_unit s given = List.fold_left (fun unit q -> Z.lcm unit q.C.qden) Z.one (parts s given)

(* Whether all distances are multiples of more than one part of this unit: the theory knows multiples of one part only. *)
let parted s unit =
  let common = List.fold_left (fun g q -> Z.gcd g (Z.mul q.C.qnum (Z.divexact unit q.C.qden))) Z.zero (parts s []) in
  not (Z.equal common Z.one)

(* The last multiple below [q] of what all distances are multiples of, by 2.8. *)
let last_below s q =
  let found = parts ~all_floats:true s [] in
  let unit = List.fold_left (fun unit one -> Z.lcm unit one.C.qden) q.C.qden found in
  let count one = Z.mul one.C.qnum (Z.divexact unit one.C.qden) in
  let common = List.fold_left (fun g one -> Z.gcd g (count one)) Z.zero found in
  let last = if Z.sign common = 0 then Z.zero else Z.mul common (Z.fdiv (Z.pred (count q)) common) in
  C.qred { C.qnum = last; qden = unit }

(* Hardly more than that; none where floats are summed. *)
let after_last_below s q =
  let is_float f = match f.C.kind_of with C.Float32 | C.Float64 -> true | _ -> false in
  let sizes = Z.sign s.C.beta.C.qnum <> 0 || Z.sign s.C.gamma.C.qnum <> 0 in
  if sizes && List.exists is_float s.C.features then None
  else
    let last = last_below s q in
    let fine = two 64 in
    Some (C.qred { C.qnum = Z.succ (Z.mul last.C.qnum fine); qden = Z.mul last.C.qden fine })
