(* From the JSON of FORMAT.md to the statement and the witness of the checked theory.

   This file is trusted: what it makes of a file is what the theorem is about. It is printed back (printer.ml), so that
   another reader of the same file can say whether both read the same. Cuts, the unit of distances (hints.ml) and the proof
   (walk.ml) are checked by the theory and may be wrong without harm. *)

module C = Accepts
open Json

exception Refused of string
exception Not_covered of string

let refused form = Printf.ksprintf (fun words -> raise (Refused words)) form
let need holds form = Printf.ksprintf (fun words -> if not holds then raise (Refused words)) form

let max_nodes = 10_000_000

let within holds form = Printf.ksprintf (fun words -> if not holds then raise (Unusable words)) form

(* ---------------------------------------------------------------- fields *)

let fields data names where =
  match data with
  | Object found ->
      let given = List.sort compare (List.map fst found) in
      need (given = List.sort compare names) "%s: expected the fields %s" where (String.concat ", " names);
      fun name -> List.assoc name found
  | _ -> refused "%s: expected an object" where

let has data name = match data with Object found -> List.mem_assoc name found | _ -> false

let items ?length data where =
  match data with
  | List found ->
      (match length with
       | Some n -> need (Array.length found = n) "%s: expected %d entries" where n
       | None -> ());
      found
  | _ -> refused "%s: expected a list" where

let list_of read data where = Array.to_list (Array.map (fun x -> read x where) (items data where))

let whole data low high where =
  match data with
  | Whole n when Z.leq low n && Z.leq n high -> n
  | _ -> refused "%s: expected an integer from %s to %s" where (Z.format "%d" low) (Z.format "%d" high)

let any data where = match data with Whole n -> n | _ -> refused "%s: expected an integer" where
let int_of data low high where = Z.to_int (whole data (Z.of_int low) (Z.of_int high) where)
let truth data where = match data with Truth b -> b | _ -> refused "%s: expected true or false" where
let word data choices where =
  match data with
  | Text found when List.mem found choices -> found
  | _ -> refused "%s: expected one of %s" where (String.concat ", " choices)

let two n = Z.shift_left Z.one n

let digits text from till =
  till > from && (let rec go i = i >= till || (match text.[i] with '0' .. '9' -> go (i + 1) | _ -> false) in go from)

let rational ?low data where =
  let fail () = refused "%s: expected a number such as \"3\" or \"-1/3\"" where in
  match data with
  | Text text when String.length text <= (2 * max_digits) + 2 ->
      let length = String.length text in
      let from = if length > 0 && text.[0] = '-' then 1 else 0 in
      let bar = match String.index_opt text '/' with Some i -> i | None -> length in
      let part from till = till - from <= max_digits && digits text from till in
      if not (part from bar && (bar = length || part (bar + 1) length)) then fail ();
      let above = Z.of_string (String.sub text 0 bar) in
      let below = if bar = length then Z.one else Z.of_string (String.sub text (bar + 1) (length - bar - 1)) in
      need (Z.sign below > 0) "%s: divides by zero" where;
      (match low with
       | Some n -> need (Z.geq above (Z.mul below (Z.of_int n))) "%s: expected a number of at least %d" where n
       | None -> ());
      let g = Z.gcd above below in
      { C.qnum = Z.divexact above g; qden = Z.divexact below g }
  | _ -> fail ()

(* A float as (mantissa, exponent), the mantissa odd or 0. *)
let reduced mantissa exponent =
  if Z.sign mantissa = 0 then (Z.zero, Z.zero)
  else let zeros = Z.trailing_zeros mantissa in (Z.shift_right mantissa zeros, Z.of_int (exponent + zeros))

let floats : (string, Z.t * Z.t) Hashtbl.t = Hashtbl.create 4096

let read_float text where =
  let fail () = refused "%s: %S is no double such as \"0x1.8p+1\"" where text in
  let length = String.length text in
  let at = ref 0 in
  let next () = let c = if !at < length then text.[!at] else '\000' in incr at; c in
  let sign = if length > 0 && text.[0] = '-' then (incr at; -1) else 1 in
  if next () <> '0' || next () <> 'x' then fail ();
  let lead = match next () with '0' -> 0 | '1' -> 1 | _ -> fail () in
  let from = if !at < length && text.[!at] = '.' then !at + 1 else !at in
  let bar = match String.index_from_opt text !at 'p' with Some i -> i | None -> fail () in
  let count = bar - from in
  if (from > !at && count < 1) || (from = !at && count <> 0) || count > 13 then fail ();
  for i = from to bar - 1 do match text.[i] with '0' .. '9' | 'a' .. 'f' -> () | _ -> fail () done;
  let sharp = if count = 0 then Z.zero else Z.of_string ("0x" ^ String.sub text from count) in
  let size = length - bar - 2 in
  if size < 1 || size > 4 || not (digits text (bar + 2) length) then fail ();
  let power = int_of_string (String.sub text (bar + 2) size) in
  let power = match text.[bar + 1] with '+' -> power | '-' -> -power | _ -> fail () in
  let mantissa = Z.add (Z.shift_left (Z.of_int lead) 52) (Z.shift_left sharp (52 - (4 * count))) in
  if power < -1022 || power > 1023 || (lead = 0 && Z.sign mantissa <> 0 && power <> -1022) then fail ();
  reduced (Z.mul (Z.of_int sign) mantissa) (power - 52)

let floating data where =
  match data with
  | Text text ->
      (match Hashtbl.find_opt floats text with
       | Some found -> found
       | None -> let found = read_float text where in Hashtbl.add floats text found; found)
  | _ -> refused "%s: expected a float as text" where

let nat = Nats.nat

(* ---------------------------------------------------------------- features and columns *)

(* The kind of grid and the index of "missing" on it, or the number of levels. *)
type side = Grid of string * Z.t option | Rank of int

(* An index of a feature, allowed or not. *)
let index_of side data where =
  let within largest absent =
    let i = any data where and largest = Z.of_string largest in
    need (absent = Some i || Z.leq (Z.abs i) largest) "%s: there is no float with this index" where;
    i in
  match side with
  | Rank count -> whole data Z.zero (Z.of_int (count - 1)) where
  | Grid ("float64", absent) -> within "0x7fefffffffffffff" absent
  | Grid ("float32", absent) -> within "0x7f7fffff" absent
  | Grid _ -> any data where

let grid data where =
  let missing = has data "missing" in
  let names = ["name"; "weight"; "kind"; "grid"; "step"; "extra"; "lower"; "upper"; "start"; "scale"] in
  let field = fields data (if missing then names @ ["missing"] else names) where in
  let at name = where ^ ": " ^ name in
  (match field "name" with Text _ -> () | _ -> refused "%s: a name is text" where);
  let weight = rational ~low:0 (field "weight") (at "weight") in
  let grid = word (field "grid") ["step"; "float64"; "float32"] (at "grid") in
  let scale = rational (field "scale") (at "scale") and step = rational (field "step") (at "step") in
  need (Z.sign scale.C.qnum > 0 && Z.sign step.C.qnum > 0) "%s: scale and step must be positive" where;
  let kind =
    match grid, field "extra" with
    | "step", extra ->
        let extra = match extra with Null -> None | q -> Some (rational q (at "extra")) in
        let below = match extra with None -> step.C.qden | Some e -> Z.lcm step.C.qden e.C.qden in
        let over q = Z.mul q.C.qnum (Z.divexact below q.C.qden) in
        C.Step (over step, below, Option.map over extra)
    | _, Null -> if grid = "float64" then C.Float64 else C.Float32
    | _ -> refused "%s: only a grid of steps has an extra value" where in
  let index name = any (field name) (at name) in
  let low = index "lower" and high = index "upper" and start = index "start" in
  need (Z.leq low high) "%s: lower lies above upper" where;
  let absent, last =
    if not missing then (None, high)
    else begin
      let field = fields (field "missing") ["cost"; "allowed"] (at "missing") in
      let cost = rational ~low:0 (field "cost") (at "missing: cost") in
      (Some (Z.succ high, cost), if truth (field "allowed") (at "missing: allowed") then Z.succ high else high)
    end in
  let side = Grid (grid, Option.map fst absent) in
  List.iter (fun i -> ignore (index_of side i where)) [field "lower"; field "upper"; field "start"];
  ({ C.kind_of = kind; domain_of = C.Between (low, last); start; scale; weight; absent }, side)

let levels data where =
  let missing = has data "missing" in
  let names = ["name"; "weight"; "kind"; "count"; "allowed"; "start"; "ordered"] in
  let field = fields data (if missing then names @ ["missing"] else names) where in
  let at name = where ^ ": " ^ name in
  (match field "name" with Text _ -> () | _ -> refused "%s: a name is text" where);
  let weight = rational ~low:0 (field "weight") (at "weight") in
  let count = match field "count" with Whole n when Z.gt n (Z.of_int 10_000) -> unusable "more than 10000 levels" | n -> n in
  let count = int_of count 1 10_000 (at "count") in
  let mask = whole (field "allowed") Z.one (Z.pred (two count)) (at "allowed") in
  let start = int_of (field "start") 0 (count - 1) (at "start") in
  let ordered = truth (field "ordered") (at "ordered") in
  let absent =
    if not missing then None
    else
      let field = fields (field "missing") ["cost"] (at "missing") in
      Some (Z.of_int (count - 1), rational ~low:0 (field "cost") (at "missing: cost")) in
  let steps = max (count - 1 - if missing then 1 else 0) 1 in
  let kind = if ordered then C.Ordinal (Z.of_int steps) else C.Nominal in
  ( { C.kind_of = kind; domain_of = C.Among mask; start = Z.of_int start; scale = { qnum = Z.one; qden = Z.one }; weight;
        absent },
    Rank count )

let feature data where =
  match (match data with Object found -> List.assoc_opt "kind" found | _ -> None) with
  | Some (Text "grid") -> grid data where
  | Some (Text "levels") -> levels data where
  | _ -> refused "%s: kind: expected one of grid, levels" where

let operation data where =
  let pair = items ~length:2 data where in
  let x = floating pair.(1) where in
  match word pair.(0) ["add"; "sub"; "mul"; "div"] where with
  | "add" -> C.Add x
  | "sub" -> C.Subtract x
  | "mul" -> C.Multiply x
  | _ -> need (Z.sign (fst x) <> 0) "%s: divides by zero" where; C.Divide x

let column features sides data where =
  let parts = items data where in
  let size = Array.length parts in
  need (size = 3 || size = 4) "%s: expected 3 or 4 entries" where;
  let j = int_of parts.(0) 0 (Array.length features - 1) where in
  let lacking = (match sides.(j) with Grid _ -> true | Rank _ -> false) && features.(j).C.absent <> None in
  need ((size = 4) = lacking) "%s: a float for what is missing where a number may be, and only there" where;
  let if_absent = if lacking then Some (floating parts.(3) where) else None in
  match sides.(j), parts.(2) with
  | Rank count, chain ->
      ignore (items ~length:0 chain where);
      C.Table (nat j, List.map (fun x -> floating x where) (Array.to_list (items ~length:count parts.(1) where)))
  | Grid (grid, _), chain ->
      need (parts.(1) = Null) "%s: a grid has no table of levels" where;
      if chain = Text "float32" then begin
        need (grid = "step") "%s: only a value of a grid of steps is rounded once to float32" where;
        C.Single (nat j, if_absent)
      end else begin
        let chain = list_of operation chain where in
        within (List.length chain <= 100) "more than 100 operations of a column";
        C.Number (nat j, chain, if_absent)
      end

(* ---------------------------------------------------------------- rules and regions *)

let rec number features data where =
  match Array.to_list (items data where) with
  | [Text "x"; j] -> C.Value (nat (int_of j 0 (Array.length features - 1) where))
  | [Text "c"; q] -> C.Constant (rational q where)
  | Text "+" :: (_ :: _ as parts) -> C.Sum (numbers features parts where)
  | [Text "-"; a; b] -> C.Minus (number features a where, number features b where)
  | [Text "neg"; a] -> C.Opposite (number features a where)
  | [Text "*"; q; a] -> C.Times (rational q where, number features a where)
  | [Text "abs"; a] -> C.Absolute (number features a where)
  | Text "min" :: (_ :: _ as parts) -> C.Least (numbers features parts where)
  | Text "max" :: (_ :: _ as parts) -> C.Greatest (numbers features parts where)
  | _ -> refused "%s: no number" where

and numbers features parts where =
  match List.rev_map (fun part -> number features part where) parts with
  | [] -> refused "%s: no parts" where
  | last :: before -> List.fold_left (fun l a -> C.More (a, l)) (C.One last) before

let rec condition features data where =
  let n part = number features part where in
  match Array.to_list (items data where) with
  | [Text "true"] -> C.Always
  | [Text "false"] -> C.Never
  | [Text "<"; a; b] -> C.Less (n a, n b)
  | [Text "<="; a; b] -> C.AtMost (n a, n b)
  | [Text "=="; a; b] -> C.Equal (n a, n b)
  | [Text "!="; a; b] -> C.Unequal (n a, n b)
  | Text "and" :: parts -> C.Both (conditions features parts where)
  | Text "or" :: parts -> C.Either (conditions features parts where)
  | [Text "not"; a] -> C.Not (condition features a where)
  | _ -> refused "%s: no condition" where

and conditions features parts where =
  List.fold_left (fun l a -> C.Also (a, l)) C.NoMore (List.rev_map (fun part -> condition features part where) parts)

let point features sides data where =
  let found = items ~length:(Array.length features) data where in
  Array.to_list (Array.mapi (fun j i -> index_of sides.(j) i where) found)

let box_side side data where =
  match side with
  | Rank count -> C.Mask (whole data Z.zero (Z.pred (two count)) where)
  | Grid _ ->
      let ends = items ~length:2 data where in
      C.Range (any ends.(0) where, any ends.(1) where)

let region features sides data where =
  if has data "box" then
    let found = items ~length:(Array.length features) (fields data ["box"] where "box") where in
    C.InBox (Array.to_list (Array.mapi (fun j side -> box_side sides.(j) side where) found))
  else if has data "changes" then
    let last = Array.length features - 1 in
    C.Changed (list_of (fun j where -> nat (int_of j 0 last where)) (fields data ["changes"] where "changes") where)
  else if has data "near" then
    let field = fields data ["near"; "radius"] where in
    C.Near (point features sides (field "near") where, rational (field "radius") where)
  else C.Exactly (point features sides (fields data ["point"] where "point") where)

(* ---------------------------------------------------------------- the ensemble *)

(* The largest number that still rounds to a finite float of the type. *)
let fits_dtype single (m, e) =
  not single || Z.lt (C.units (Z.abs m, e)) (Z.sub (two 1202) (two 1177))

let test columns c data where =
  match data with
  | List found ->
      (match columns.(c) with C.Table _ -> () | _ -> refused "%s: tests categories of a grid" where);
      C.Member (Array.to_list (Array.map (fun k -> any k where) found))
  | _ -> C.Below (floating data where)

(* [hint c test] is where a test cuts the axis of a column; [scores row] are the values of a leaf in units. *)
let tree columns hint scores data where =
  let field = fields data ["column"; "threshold"; "left"; "right"; "value"] where in
  let column = items (field "column") where in
  let size = Array.length column in
  need (size > 0) "%s: has no node" where;
  let part name = items ~length:size (field name) where in
  let threshold = part "threshold" and left = part "left" and right = part "right" and value = part "value" in
  let made = Array.make size None in
  let parents = Bytes.make size '\000' in
  for n = size - 1 downto 0 do
    let where = Printf.sprintf "%s: node %d" where n in
    made.(n) <-
      (match column.(n) with
       | Whole c when Z.equal c Z.minus_one ->
           let is_none = function Whole k -> Z.sign k = 0 | _ -> false in
           need (is_none threshold.(n) && is_none left.(n) && is_none right.(n)) "%s: a leaf tests nothing" where;
           Some (C.Leaf (scores value.(n) where))
       | c ->
           let c = int_of c 0 (Array.length columns - 1) where in
           need (value.(n) = Null) "%s: only a leaf has values" where;
           let question = test columns c threshold.(n) where in
           let child data =
             let k = int_of data (n + 1) (size - 1) where in
             need (Bytes.get parents k = '\000') "%s: its child has two parents" where;
             Bytes.set parents k '\001';
             match made.(k) with Some t -> made.(k) <- None; t | None -> refused "%s: its child has two parents" where in
           let l = child left.(n) in
           let r = child right.(n) in
           Some (C.Node (nat c, question, hint c question, l, r)))
  done;
  for k = 1 to size - 1 do need (Bytes.get parents k = '\001') "%s: not every node is reached" where done;
  (Option.get made.(0), size)

let squashed = ["argmax", 0; "softmax", 32; "positive", 0; "nonnegative", 0; "sigmoid", 16; "value", 0]

let leaf_values model =
  let found = ref [] in
  let add data = match data with Text _ -> found := floating data "statement: model" :: !found | _ -> () in
  let all = function List l -> Array.iter add l | _ -> () in
  all (model "start");
  (match model "trees" with
   | List trees ->
       Array.iter
         (function
           | Object tree -> (match List.assoc_opt "value" tree with Some (List rows) -> Array.iter all rows | _ -> ())
           | _ -> ())
         trees
   | _ -> ());
  !found

let compare_of outputs data where =
  let parts = items ~length:4 data where in
  let side = function Null -> None | k -> Some (nat (int_of k 0 (outputs - 1) where)) in
  let plus = side parts.(0) and minus = side parts.(1) in
  let than = floating parts.(2) where in
  need (plus <> None || minus <> None) "%s: no score is compared" where;
  need (plus = None || minus = None || Z.sign (fst than) = 0) "%s: two scores are compared without a number" where;
  { C.plus; minus; than; strict = truth parts.(3) where }

(* What tells two tests apart: the column, and the number or the set of numbers. *)
let key c = function C.Below x -> (c, [x]) | C.Member l -> (c, List.map (fun k -> (k, Z.zero)) (List.sort_uniq Z.compare l))

(* The numbers of the tests (column, threshold), in the order in which they first occur. *)
let numbered columns trees =
  let numbers = Hashtbl.create 1024 in
  let add column threshold =
    match column with
    | Whole c when Z.sign c >= 0 && Z.lt c (Z.of_int (Array.length columns)) ->
        let c = Z.to_int c in
        let k = key c (test columns c threshold "statement: model") in
        if not (Hashtbl.mem numbers k) then Hashtbl.add numbers k (Hashtbl.length numbers)
    | _ -> () in
  let of_tree = function
    | Object tree ->
        (match List.assoc_opt "column" tree, List.assoc_opt "threshold" tree with
         | Some (List column), Some (List threshold) when Array.length column = Array.length threshold ->
             Array.iter2 add column threshold
         | _ -> refused "statement: model: no tree")
    | _ -> refused "statement: model: no tree" in
  Array.iter of_tree (items trees "statement: model: trees");
  numbers

(* The cuts that a certificate gives: None where it says nothing of a test, and for levels. *)
let given_cuts columns trees cuts =
  let numbers = numbered columns trees in
  let cuts = items ~length:(Hashtbl.length numbers) cuts "cuts" in
  fun c question ->
    match columns.(c), cuts.(Hashtbl.find numbers (key c question)) with
    | _, Null -> None
    | C.Table _, _ -> refused "cuts: a test of levels has no cut"
    | _, k -> Some (any k "cuts")

(* ---------------------------------------------------------------- linear models *)

(* Trees as the file has them. [cut]: the cut that it gives for a test; None where it gives none. [leading t]: each node of a
   tree but the root, by number, with the axis and the side of the test that leads there, if its cut is known. *)
type trees = {
  raw : Json.t array;
  cut : int -> C.test -> Z.t option;
  leading : int -> (int, C.nat * C.side_of_axis) Hashtbl.t }

type model = Trees of trees | Linear of C.outputs

(* For each score the weights of the columns and the bias. *)
let outputs columns data where =
  let field = fields data ["weights"; "bias"; "activation"] where in
  ignore (word (field "activation") ["identity"] (where ^ ": activation"));
  let bias = Array.map (fun x -> floating x where) (items (field "bias") where) in
  let width = Array.length bias in
  need (width > 0) "%s: it has no score" where;
  let row data = Array.map (fun x -> floating x where) (items ~length:width data where) in
  let rows = Array.map row (items ~length:columns (field "weights") where) in
  List.init width (fun k -> (Array.to_list (Array.map (fun row -> row.(k)) rows), bias.(k)))

let linear columns data cuts where =
  let field = fields data ["kind"; "rule"; "dtype"; "layers"] where in
  (match cuts with Some cuts -> ignore (items ~length:0 cuts "cuts") | None -> ());
  if word (field "dtype") ["float64"; "float32"] (where ^ ": dtype") = "float32" then raise (Not_covered "networks in float32");
  match items (field "layers") (where ^ ": layers") with
  | [||] -> refused "%s: it has no layer" where
  | [|layer|] -> (word (field "rule") (List.map fst squashed) (where ^ ": rule"), outputs columns layer where)
  | _ -> raise (Not_covered "networks with hidden layers")

(* ---------------------------------------------------------------- the statement *)

(* The axis of a test, the side that goes left and the side that goes right; None where its cut is not known. *)
let sides_of_test s features sides columns cut c question =
  let j = Nats.count (C.feature_of columns.(c)) in
  match sides.(j), cut c question with
  | Grid _, None -> None
  | Grid _, Some k -> Some (if C.falls columns.(c) then (j, C.Over k, C.Under k) else (j, C.Under k, C.Over k))
  | Rank count, _ ->
      let passes level = C.passes_fast s question (C.column_fast features.(j) columns.(c) (Z.of_int level)) in
      let mask = List.fold_left (fun m k -> if passes k then Z.logor m (two k) else m) Z.zero (List.init count Fun.id) in
      Some (j, C.Within mask, C.Within (Z.logxor mask (Z.pred (two count))))

(* Where the tests of a tree lead: a hint, because any side may have a price. *)
let leading_sides columns sides_of data =
  let field name = match data with Object tree -> items (List.assoc name tree) name | _ -> [||] in
  let column = field "column" and threshold = field "threshold" and left = field "left" and right = field "right" in
  let found = Hashtbl.create 64 in
  Array.iteri
    (fun n c ->
      match c with
      | Whole c when Z.sign c >= 0 ->
          let c = Z.to_int c in
          Option.iter
            (fun (j, one, other) ->
              let add child side = match child with Whole k -> Hashtbl.replace found (Z.to_int k) (nat j, side) | _ -> () in
              add left.(n) one;
              add right.(n) other)
            (sides_of c (test columns c threshold.(n) "statement: model"))
      | _ -> ())
    column;
  found

(* The trees of an ensemble and what else is said of it, put into a statement that has neither. *)
let with_trees empty features sides columns data cuts where =
  let names = ["kind"; "rule"; "cast"; "test"; "dtype"; "ordered"; "error"; "divide"; "start"; "trees"] in
  let model = fields data names where in
  let single name = word (model name) ["float64"; "float32"] (where ^ ": " ^ name) = "float32" in
  let sums_in_float32 = single "dtype" in
  let error = floating (model "error") where in
  need (Z.sign (fst error) >= 0) "%s: an error is not negative" where;
  let unit = List.fold_left (fun u (_, e) -> max u (- (Z.to_int e))) 0 (leaf_values model) in
  let in_units data where =
    let (m, e) as x = floating data where in
    need (fits_dtype sums_in_float32 x) "%s: a value overflows" where;
    Z.shift_left m (unit + Z.to_int e) in
  let start_scores = list_of in_units (model "start") where in
  let outputs = List.length start_scores in
  let scores row where = Array.to_list (Array.map (fun x -> in_units x where) (items ~length:outputs row where)) in
  let rule = word (model "rule") (List.map fst squashed) (where ^ ": rule") in
  let empty = { empty with C.cast_to_float32 = single "cast";
    test_is_strict = word (model "test") ["<="; "<"] (where ^ ": test") = "<"; sums_in_float32;
    ordered = truth (model "ordered") (where ^ ": ordered"); error; squash = Z.of_int (List.assoc rule squashed);
    divide = (let n = any (model "divide") where in need (Z.sign n > 0) "%s: divide" where; n); unit0 = Z.of_int unit; start_scores } in
  let search = Hints.cut empty features columns in
  let given = Option.map (given_cuts columns (model "trees")) cuts in
  let cut = match given with None -> fun c question -> Some (search c question) | Some given -> given in
  let hint c question = match columns.(c), cut c question with
    | C.Table _, _ -> Z.zero
    | _, Some k -> k
    | _, None -> search c question in
  let room = ref max_nodes in
  let read_tree t data =
    let made, size = tree columns hint scores data (Printf.sprintf "%s: tree %d" where t) in
    room := !room - size;
    within (!room >= 0) "more than %d nodes of trees" max_nodes;
    made in
  let raw = items (model "trees") where in
  let made = { empty with C.trees = Array.to_list (Array.mapi read_tree raw) } in
  let sides_of = sides_of_test empty features sides columns cut in
  let leading = Array.map (fun data -> lazy (leading_sides columns sides_of data)) raw in
  (outputs, { raw; cut; leading = (fun t -> Lazy.force leading.(t)) }, made)

let statement data cuts =
  let where = "statement" in
  let field =
    fields data ["features"; "columns"; "model"; "goal"; "distance"; "rules"; "avoid"; "most_changes"; "claim"] where in
  let raw = items (field "features") "statement: features" in
  within (Array.length raw <= 10_000) "more than 10000 features";
  let both = Array.mapi (fun j f -> feature f (Printf.sprintf "statement: feature %d" j)) raw in
  let features = Array.map fst both and sides = Array.map snd both in
  let raw = items (field "columns") "statement: columns" in
  within (Array.length raw <= 100_000) "more than 100000 columns";
  let columns = Array.mapi (fun c x -> column features sides x (Printf.sprintf "statement: column %d" c)) raw in
  if has (field "distance") "forms" then raise (Not_covered "forms of a distance");
  let distance = fields (field "distance") ["alpha"; "beta"; "gamma"] "statement: distance" in
  let mix name = rational ~low:0 (distance name) "statement: distance" in
  let claim = field "claim" in
  let closer_than =
    if has claim "anywhere" then begin
      need (truth (fields claim ["anywhere"] "statement: claim" "anywhere") "statement: claim") "statement: claim: anywhere";
      None
    end else Some (rational ~low:0 (fields claim ["closer_than"] "statement: claim" "closer_than") "statement: claim") in
  let most_changes = match field "most_changes" with
    | Null -> None
    | k ->
        let k = any k "statement: most_changes" in
        if Z.sign k < 0 then raise (Not_covered "a limit on changes that no point can keep");
        Some (nat (Z.to_int (Z.min k (Z.of_int (Array.length features))))) in
  let zero = (Z.zero, Z.zero) in
  let empty = { C.features = Array.to_list features; columns = Array.to_list columns; cast_to_float32 = false;
    test_is_strict = false; sums_in_float32 = false; ordered = false; error = zero; squash = Z.zero; divide = Z.one;
    unit0 = Z.zero; start_scores = []; trees = []; goal = []; alpha = mix "alpha"; beta = mix "beta"; gamma = mix "gamma";
    rules = list_of (condition features) (field "rules") "statement: rules";
    avoid = list_of (region features sides) (field "avoid") "statement: avoid"; most_changes; closer_than } in
  let data = field "model" and where = "statement: model" in
  need (not (has data "sha256")) "statement: model: it is in a file of its own";
  let model, scores, made =
    match (match data with Object found -> List.assoc_opt "kind" found | _ -> None) with
    | Some (Text "network") ->
        let rule, outputs = linear (Array.length columns) data cuts where in
        (Linear outputs, List.length outputs, { empty with C.squash = Z.of_int (List.assoc rule squashed) })
    | Some (Text "ensemble") ->
        let scores, trees, made = with_trees empty features sides columns data cuts where in
        (Trees trees, scores, made)
    | _ -> refused "statement: model: kind" in
  let goal = list_of (list_of (compare_of scores)) (field "goal") "statement: goal" in
  ({ made with C.goal }, model, features, sides)

(* ---------------------------------------------------------------- what leaves of the proof hold *)

(* Multipliers for one part of the goal; without hidden units there are no slopes and no phases. *)
let multipliers features data where =
  if has data "changes" then raise (Not_covered "duals that count changes");
  if has data "rules" then raise (Not_covered "duals that count what rules compare");
  let field = fields data ["goal"; "slopes"; "phases"; "largest"] where in
  ignore (items ~length:0 (field "slopes") where);
  ignore (items ~length:0 (field "phases") where);
  let share data where =
    let pair = items ~length:2 data where in
    (nat (int_of pair.(0) 0 (Array.length features - 1) where), rational ~low:0 pair.(1) where) in
  { C.factors = list_of (rational ~low:0) (field "goal") where; shares = list_of share (field "largest") where }

(* Numbers that grow, each given by what it is more than the one before; of the first, itself. *)
let growing steps where =
  let sum = ref 0 in
  Array.mapi
    (fun i step ->
      sum := !sum + int_of step (if i = 0 then 0 else 1) (1 lsl 31) where;
      !sum)
    (items steps where)

(* A table with another price. *)
let rec priced_at number price table =
  let here, odd, even = match table with C.Blank -> (Z.zero, C.Blank, C.Blank) | C.Fork (here, odd, even) -> (here, odd, even) in
  if number = 1 then C.Fork (price, odd, even)
  else if number land 1 = 1 then C.Fork (here, priced_at (number / 2) price odd, even)
  else C.Fork (here, odd, priced_at (number / 2) price even)

(* Prices for one part of the goal. They may be any numbers that are not negative, so that how they are read is no matter
   of trust: all are brought to one scale, and sides are named by their axis. *)
let pricing s { raw; leading; _ } features cliques part data where =
  let trees = Array.length raw in
  if has data "rules" then raise (Not_covered "prices that count what rules compare");
  let shared = has data "cliques" in
  let names = ["goal"; "largest"; "unit"; "prices"] in
  let field = fields data (if shared then "cliques" :: names else names) where in
  let factors = list_of (rational ~low:0) (field "goal") where in
  need (List.length factors = List.length part) "%s: expected %d multipliers" where (List.length part);
  let unit = rational ~low:0 (field "unit") where in
  let share data where =
    let pair = items ~length:2 data where in
    (int_of pair.(0) 0 (Array.length features - 1) where, rational ~low:0 pair.(1) where) in
  let shares = list_of share (field "largest") where in
  let named = List.map fst shares in
  need (List.length (List.sort_uniq compare named) = List.length named) "%s: largest: a feature twice" where;
  let scale = List.fold_left (fun d q -> Z.lcm d q.C.qden) unit.C.qden (factors @ List.map snd shares) in
  let scale = Z.shift_left scale (Z.to_int s.C.unit0) in
  let times q = Z.mul q.C.qnum (Z.divexact scale q.C.qden) in
  let tolls = Array.make trees [] and pieces = Array.make (Array.length features) [] in
  let before = ref (-1, 0) in
  let priced t n units =
    need (!before < (t, n)) "%s: prices: not in order" where;
    before := (t, n);
    let price = whole units Z.zero (two 4000) where in
    match Hashtbl.find_opt (leading t) n with
    | None -> refused "%s: no test leads to node %d of tree %d" where n t
    | Some (j, side) ->
        let axis = Nats.count j in
        (match side with C.Under k | C.Over k -> pieces.(axis) <- k :: pieces.(axis) | C.Within _ -> ());
        tolls.(t) <- { C.axis_of_toll = j; side0 = side; price_of = Z.mul price (times unit) } :: tolls.(t) in
  let of_entry data =
    let entry = items ~length:3 data where in
    priced (int_of entry.(0) 0 (trees - 1) where) (int_of entry.(1) 1 max_nodes where) entry.(2) in
  (* Nodes numbered through all trees, each by what it is more than the one before. *)
  let of_columns columns =
    let column = fields columns ["nodes"; "units"] where in
    let steps = items (column "nodes") where in
    let units = items ~length:(Array.length steps) (column "units") where in
    let size = function Object tree -> Array.length (items (List.assoc "column" tree) where) | _ -> 0 in
    let t = ref 0 and n = ref 0 in
    let step i data =
      n := !n + int_of data 0 (1 lsl 31) where;
      while !t < trees && !n >= size raw.(!t) do n := !n - size raw.(!t); incr t done;
      need (!t < trees) "%s: prices: there is no such node" where;
      priced !t !n units.(i) in
    Array.iteri step steps in
  (match field "prices" with Object _ as columns -> of_columns columns | entries ->
    Array.iter of_entry (items entries where));
  let of_cliques columns =
    let column = fields columns ["numbers"; "units"] where in
    let chosen = growing (column "numbers") where in
    let units = items ~length:(Array.length chosen) (column "units") where in
    let add i table =
      need (chosen.(i) < cliques) "%s: there is no such clique" where;
      priced_at (chosen.(i) + 1) (Z.mul (whole units.(i) Z.zero (two 4000) where) (times unit)) table in
    List.fold_right add (List.init (Array.length chosen) Fun.id) C.Blank in
  let anywhere = s.C.closer_than = None in
  let top j = if anywhere then Z.zero
    else List.fold_left (fun sum (k, q) -> if k = j then Z.add sum (times q) else sum) Z.zero shares in
  { C.scale0 = if anywhere then Z.zero else scale;
    multiply = List.map (fun q -> Z.shift_right (times q) (Z.to_int s.C.unit0)) factors;
    top_shares = List.init (Array.length features) top; tolls = Array.to_list tolls;
    pieces = Array.to_list (Array.map (List.sort_uniq Z.compare) pieces);
    of_cliques = if shared then of_cliques (field "cliques") else C.Blank }
