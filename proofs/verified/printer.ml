(* What was read, in canonical form: the records of the theory, written as JSON without spaces. Rationals are reduced,
   floats are [mantissa, exponent] with an odd mantissa, trees are lists of nodes in preorder. Cuts, the proof and words for
   people are left out: whatever they are, what the theory accepts is true of the statement and the witness. ../readback.py
   writes the same from the file. *)

module C = Accepts

let text = Buffer.add_string
let z b n = text b (Z.to_string n)
let quoted b word = Buffer.add_char b '"'; text b word; Buffer.add_char b '"'
let truth b v = text b (if v then "true" else "false")
let option put b = function None -> text b "null" | Some x -> put b x
let nat b n = text b (string_of_int (Nats.count n))

let list put b l =
  Buffer.add_char b '[';
  List.iteri (fun i x -> if i > 0 then Buffer.add_char b ','; put b x) l;
  Buffer.add_char b ']'

let tagged b name parts = list (fun b put -> put b) b ((fun b -> quoted b name) :: parts)
let record b parts =
  Buffer.add_char b '{';
  List.iteri
    (fun i (name, put) -> if i > 0 then Buffer.add_char b ','; quoted b name; Buffer.add_char b ':'; put b)
    parts;
  Buffer.add_char b '}'

let q b (x : C.q) =
  let x = C.qred x in
  quoted b (if Z.equal x.qden Z.one then Z.to_string x.qnum else Z.to_string x.qnum ^ "/" ^ Z.to_string x.qden)

let float b (m, e) =
  let zeros = if Z.sign m = 0 then 0 else Z.trailing_zeros m in
  let e = if Z.sign m = 0 then Z.zero else Z.add e (Z.of_int zeros) in
  list z b [Z.shift_right m zeros; e]

let feature b (f : C.feature) =
  let over d n = fun b -> q b { C.qnum = n; qden = d } in
  let kind b = match f.kind_of with
    | C.Step (step, d, extra) ->
        tagged b "step" [over d step; (fun b -> option (fun b e -> over d e b) b extra)]
    | C.Float64 -> tagged b "float64" []
    | C.Float32 -> tagged b "float32" []
    | C.Nominal -> tagged b "nominal" []
    | C.Ordinal steps -> tagged b "ordinal" [fun b -> z b steps] in
  let domain b = match f.domain_of with
    | C.Between (lower, upper) -> tagged b "between" [(fun b -> z b lower); (fun b -> z b upper)]
    | C.Among mask -> tagged b "among" [fun b -> z b mask] in
  record b
    ["kind", kind; "domain", domain; "start", (fun b -> z b f.start); "scale", (fun b -> q b f.scale);
     "weight", (fun b -> q b f.weight);
     "missing", (fun b -> option (fun b (m, cost) -> list (fun b put -> put b) b [(fun b -> z b m); fun b -> q b cost]) b f.absent)]

let column b c =
  let put name x b = list (fun b put -> put b) b [(fun b -> quoted b name); fun b -> float b x] in
  let operation b = function
    | C.Add x -> put "add" x b | C.Subtract x -> put "sub" x b | C.Multiply x -> put "mul" x b | C.Divide x -> put "div" x b in
  match c with
  | C.Table (j, l) -> tagged b "levels" [(fun b -> nat b j); fun b -> list float b l]
  | C.Number (j, l, absent) ->
      tagged b "number" [(fun b -> nat b j); (fun b -> list operation b l); fun b -> option float b absent]
  | C.Single (j, absent) -> tagged b "single" [(fun b -> nat b j); fun b -> option float b absent]

let rec number b e =
  let n e = fun b -> number b e in
  match e with
  | C.Value j -> tagged b "x" [fun b -> nat b j]
  | C.Constant c -> tagged b "c" [fun b -> q b c]
  | C.Sum l -> tagged b "+" (numbers l)
  | C.Minus (x, y) -> tagged b "-" [n x; n y]
  | C.Opposite x -> tagged b "neg" [n x]
  | C.Times (c, x) -> tagged b "*" [(fun b -> q b c); n x]
  | C.Absolute x -> tagged b "abs" [n x]
  | C.Least l -> tagged b "min" (numbers l)
  | C.Greatest l -> tagged b "max" (numbers l)
and numbers = function
  | C.One e -> [fun b -> number b e]
  | C.More (e, l) -> (fun b -> number b e) :: numbers l

let rec condition b e =
  let n e = fun b -> number b e in
  match e with
  | C.Always -> tagged b "true" []
  | C.Never -> tagged b "false" []
  | C.Less (x, y) -> tagged b "<" [n x; n y]
  | C.AtMost (x, y) -> tagged b "<=" [n x; n y]
  | C.Equal (x, y) -> tagged b "==" [n x; n y]
  | C.Unequal (x, y) -> tagged b "!=" [n x; n y]
  | C.Both l -> tagged b "and" (conditions l)
  | C.Either l -> tagged b "or" (conditions l)
  | C.Not x -> tagged b "not" [fun b -> condition b x]
and conditions = function
  | C.NoMore -> []
  | C.Also (x, l) -> (fun b -> condition b x) :: conditions l

let region b r =
  let side b = function C.Range (low, high) -> list z b [low; high] | C.Mask mask -> z b mask in
  match r with
  | C.Exactly p -> record b ["point", fun b -> list z b p]
  | C.Changed js -> record b ["changes", fun b -> list nat b js]
  | C.Near (p, radius) -> record b ["near", (fun b -> list z b p); "radius", fun b -> q b radius]
  | C.InBox sides -> record b ["box", fun b -> list side b sides]

(* In units of 2^-unit, as floats. *)
let scores unit b l = list (fun b n -> float b (n, Z.neg unit)) b l

let tree unit b t =
  let node b = function
    | C.Leaf l -> tagged b "leaf" [fun b -> scores unit b l]
    | C.Node (c, test, _, _, _) ->
        let test b = match test with C.Below x -> float b x | C.Member l -> tagged b "in" [fun b -> list z b l] in
        tagged b "node" [(fun b -> nat b c); test] in
  let rec flat found = function
    | [] -> List.rev found
    | (C.Leaf _ as t) :: rest -> flat (t :: found) rest
    | (C.Node (_, _, _, l, r) as t) :: rest -> flat (t :: found) (l :: r :: rest) in
  list node b (flat [] [t])

let comparison b (c : C.comparison0) =
  list (fun b put -> put b) b
    [(fun b -> option nat b c.plus); (fun b -> option nat b c.minus); (fun b -> float b c.than); fun b -> truth b c.strict]

let model_of (s : C.statement) = function
  | Reader.Trees _ ->
      ["cast_to_float32", (fun b -> truth b s.cast_to_float32); "test_is_strict", (fun b -> truth b s.test_is_strict);
       "sums_in_float32", (fun b -> truth b s.sums_in_float32); "ordered", (fun b -> truth b s.ordered);
       "error", (fun b -> float b s.error); "squash", (fun b -> z b s.squash); "divide", (fun b -> z b s.divide);
       "start", (fun b -> scores s.unit0 b s.start_scores); "trees", (fun b -> list (tree s.unit0) b s.trees)]
  | Reader.Linear outputs ->
      ["sums_in_float32", (fun b -> truth b s.sums_in_float32); "squash", (fun b -> z b s.squash);
       "weights", (fun b -> list (fun b (weights, _) -> list float b weights) b outputs);
       "bias", (fun b -> list (fun b (_, bias) -> float b bias) b outputs)]

let statement b (s : C.statement) model =
  record b
    (["features", (fun b -> list feature b s.features); "columns", fun b -> list column b s.columns] @ model_of s model @
     ["goal", (fun b -> list (list comparison) b s.goal); "alpha", (fun b -> q b s.alpha); "beta", (fun b -> q b s.beta);
     "gamma", (fun b -> q b s.gamma); "rules", (fun b -> list condition b s.rules);
     "avoid", (fun b -> list region b s.avoid); "most_changes", (fun b -> option nat b s.most_changes);
     "closer_than", (fun b -> option q b s.closer_than)])

let witness b (point, distance) = record b ["point", (fun b -> list z b point); "distance", fun b -> q b distance]

let all (s, model, _, w) =
  let b = Buffer.create (1 lsl 20) in
  record b ["statement", (fun b -> statement b s model); "witness", fun b -> option witness b w];
  Buffer.contents b
