(* FORMAT.md 6.20: prices as changes of earlier ones. What makes no sense stays as it is, and is refused where it is read.
   Not trusted: walk.ml reads what is made here. *)

open Json

exception No_sense

let most = 1 lsl 31 (* what prices are below *)
let farthest = 31 (* the most binary places by which they are moved *)

let sense holds = if not holds then raise No_sense
let whole_of data low below =
  match data with
  | Whole z when Z.geq z (Z.of_int low) && Z.lt z (Z.of_int below) -> Z.to_int z
  | _ -> raise No_sense
let number n = Whole (Z.of_int n)
let items = function List found -> Array.to_list found | _ -> raise No_sense
let has part name = List.mem_assoc name part
let field part name = try List.assoc name part with Not_found -> raise No_sense

(* Two columns, steps from number to number and what each has, by number. *)
let numbered data name =
  match data with
  | Object columns when List.length columns = 2 ->
      let steps = items (field columns name) and units = items (field columns "units") in
      sense (List.length steps = List.length units);
      let last = ref (-1) in
      List.map2
        (fun step n ->
          let step = whole_of step (if !last < 0 then 0 else 1) most in
          last := max !last 0 + step;
          sense (!last < most);
          (!last, whole_of n 0 most))
        steps units
  | _ -> raise No_sense

(* What is left of earlier prices after a column of changes, with those that are added. *)
let changed before data name shift =
  match data with
  | Object given when List.length given = 3 ->
      let changes = items (field given "changes") in
      let added = numbered (Object [name, field given name; "units", field given "units"]) name in
      sense (List.length changes = List.length before);
      let move n = if shift >= 0 then n lsl shift else (n + (1 lsl (-shift - 1))) asr -shift in
      let change (k, n) data =
        let n = move n + whole_of data (1 - most) most in
        sense (n >= 0 && n < most);
        (k, n) in
      let found = List.sort compare (List.rev_append (List.map2 change before changes) added) in
      let rec apart = function (k, _) :: ((other, _) :: _ as rest) -> sense (k < other); apart rest | _ -> () in
      apart found;
      List.filter (fun (_, n) -> n > 0) found
  | _ -> raise No_sense

let columns found name =
  let last = ref 0 in
  let steps = List.map (fun (k, _) -> let step = k - !last in last := k; number step) found in
  Object [name, List (Array.of_list steps); "units", List (Array.of_list (List.map (fun (_, n) -> number n) found))]

(* The prices of a part, of nodes and of cliques; and the part with these in the place of changes. Of those before it [earlier] has
   the prices by their place in the proof, if a later one may change them, and [count] are they all. *)
let own part earlier count =
  if not (has part "like") then
    let cliques = if has part "cliques" then numbered (field part "cliques") "numbers" else [] in
    ((numbered (field part "prices") "nodes", cliques), part)
  else begin
    let back = whole_of (field part "like") 1 (count + 1) in
    let shift = whole_of (field part "shift") (-farthest) (farthest + 1) in
    match Hashtbl.find_opt earlier (count - back) with
    | None -> raise No_sense
    | Some (nodes, cliques) ->
        let nodes = changed nodes (field part "prices") "nodes" shift in
        let cliques = changed cliques (field part "cliques") "numbers" shift in
        let kept = List.filter (fun (name, _) -> not (List.mem name ["like"; "shift"; "prices"; "cliques"])) part in
        let shared = if cliques = [] then [] else ["cliques", columns cliques "numbers"] in
        ((nodes, cliques), (("prices", columns nodes "nodes") :: shared) @ kept)
  end

(* The nodes of a proof about trees, each part of which has its own prices. *)
let unchanged nodes =
  let earlier = Hashtbl.create 64 and count = ref 0 in
  let part = function
    | Object part ->
        let place = !count in
        incr count;
        Object
          (match own part earlier place with
           | found, made -> Hashtbl.add earlier place found; made
           | exception No_sense -> part)
    | other -> other in
  let node = function
    | List fields as data when Array.length fields > 0 -> (
        match fields.(0) with Text ("prices" | "narrow") -> List (Array.map part fields) | _ -> data)
    | data -> data in
  match nodes with List found -> List (Array.map node found) | other -> other
