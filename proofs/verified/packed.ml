(* FORMAT.md 6.17: a proof in columns, as the list of nodes that it stands for. Not trusted: walk.ml reads what is made here. *)

open Json
open Reader

let number_of n = Whole (Z.of_int n)

(* Where the nodes of each tree begin, if those of all are counted; their number at the end. *)
let begins raw =
  let size = function Object tree -> Array.length (items (List.assoc "column" tree) "the proof") | _ -> 0 in
  let begin_ = Array.make (Array.length raw + 1) 0 in
  Array.iteri (fun t data -> begin_.(t + 1) <- begin_.(t) + size data) raw;
  begin_

(* Tree and node of a number. *)
let place begin_ number where =
  let trees = Array.length begin_ - 1 in
  need (number < begin_.(trees)) "%s: there is no such node" where;
  let rec search low high =
    if low + 1 >= high then low
    else let middle = (low + high) / 2 in if begin_.(middle) <= number then search middle high else search low middle in
  let t = search 0 trees in
  (t, number - begin_.(t))

(* Numbers of nodes as entries of a tree and nodes, those in a row that are of one tree together. *)
let by_tree begin_ data where =
  let join number (found : (int * Json.t list) list) =
    let t, n = place begin_ (int_of number 0 (1 lsl 31) where) where in
    match found with
    | (other, own) :: rest when other = t -> (t, number_of n :: own) :: rest
    | _ -> (t, [number_of n]) :: found in
  List.map (fun (t, own) -> List (Array.of_list (number_of t :: own))) (Array.fold_right join (items data where) [])

(* Raw: the trees of the model. *)
let nodes raw data =
  Changes.unchanged @@ match data with
  | Object _ ->
      let where = "the proof" in
      let field = fields data ["rules"; "places"; "splits"; "prune"; "trees"; "others"] where in
      let letters = match field "rules" with Text letters -> letters | _ -> refused "%s: rules: expected a text" where in
      within (String.length letters <= max_nodes) "more than %d nodes of the proof" max_nodes;
      let begin_ = begins raw and places = items (field "places") where in
      let column name =
        let found = items (field name) where and next = ref 0 in
        (fun () ->
          need (!next < Array.length found) "%s: %s ends before the rules" where name;
          incr next;
          found.(!next - 1)),
        (fun () -> need (!next = Array.length found) "%s: %s goes on after the rules" where name) in
      let split, no_split = column "splits" and prune, no_prune = column "prune" in
      let sums, no_sums = column "trees" and other, no_other = column "others" in
      let leaves name data = List (Array.of_list (Text name :: by_tree begin_ data where)) in
      let node = function
        | 's' ->
            let place = items ~length:2 places.(int_of (split ()) 0 (Array.length places - 1) where) where in
            List [|Text "split"; place.(0); place.(1)|]
        | 'p' -> leaves "prune" (prune ())
        | 't' -> leaves "trees" (sums ())
        | 'o' -> other ()
        | letter -> refused "%s: no rule %C" where letter in
      let made = Array.init (String.length letters) (fun i -> node letters.[i]) in
      List.iter (fun check -> check ()) [no_split; no_prune; no_sums; no_other];
      List made
  | _ -> data
