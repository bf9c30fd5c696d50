(* A certificate: what the theory is asked, and why it may say no. Not trusted. *)

module C = Accepts
open Json
open Reader

let not_covered form = Printf.ksprintf (fun words -> raise (Not_covered words)) form

(* A region `near` about an axis that has "missing" is not of the theory. *)
let is_lacking s = function
  | C.Near _ ->
      let on_grid f = match f.C.domain_of with C.Between _ -> true | C.Among _ -> false in
      List.exists (fun f -> f.C.absent <> None && on_grid f) s.C.features
  | _ -> false

let lacks () = not_covered "regions around a point where numbers may be missing"

(* Raised where this file accepts and the theory does not: "not covered" if the theory alone is to blame, else refused. *)
let blame s model (c : C.certificate) witness =
  let lacking = List.exists (is_lacking s) s.C.avoid in
  (match witness with
   | Some (point, far) when lacking && not (C.is_there s point far) -> lacks ()
   | Some (point, far) -> need (C.is_there s point far) "witness: it is not allowed, or not at this distance"
   | None -> ());
  match model with
  | Linear outputs ->
      if lacking then lacks ();
      let nearer = Option.bind s.C.closer_than (Hints.after_last_below s) in
      if nearer <> None && C.linear_accepts { s with C.closer_than = nearer } outputs c witness then
        not_covered "a dual where all distances are multiples of more than one part of a whole";
      refused "the theory's checker says no"
  | Trees _ ->
      (match witness with
       | Some (point, far) when not (C.check_witness s point far) ->
           if Slack.repeated s then refused "witness: the model may not say so there"
           else not_covered "a witness within the theory's own slack"
       | _ -> ());
      if not (List.for_all (List.for_all (C.sums_stay_finite s)) s.C.goal) then
        not_covered "sums that may overflow by the theory's own bound";
      need (C.well_formed s c.cost_unit) "statement: columns: a value overflows";
      let axes = C.axes_of s c.cost_unit and limit = C.limit_of s c.cost_unit in
      let shapes = match C.all (List.map (C.cut_tree_of s axes) s.C.trees) with
        | Some shapes -> shapes
        | None -> refused "cuts: a test is cut elsewhere" in
      let opponents = List.map (List.map (fun c -> C.opponent s shapes (C.may s c))) s.C.goal in
      let closed = C.check_leaf s axes limit (C.closes s c.cost_unit axes limit shapes opponents) in
      let rec find known p parts box =
        match p with
        | C.Cliques (till, marks, rest) ->
            (match C.learn known box till marks with
             | Some known -> find known rest parts box
             | None -> refused "cliques: a point may reach two leaves of one")
        | C.Part (k, first, second) ->
            find known first (C.alone k parts) box;
            find known second (C.without k parts) box
        | C.Split (j, at, first, second) ->
            let a, prices = List.nth axes (Nats.count j) in
            let into half = C.set j half box in
            (match List.nth box (Nats.count j) with
             | C.Interval (low, high, _, _) ->
                 find known first parts (into (C.interval_range a low (Z.min high at)));
                 find known second parts (into (C.interval_range a (Z.max low (Z.succ at)) high))
             | C.Levels (mask, _, _) ->
                 find known first parts (into (C.levels_range (Z.logand mask at) prices));
                 find known second parts (into (C.levels_range (Z.logand mask (Z.lognot at)) prices)))
        | _ when closed known parts p box -> ()
        | C.Trees -> not_covered "a sum of trees within the theory's own slack"
        | C.Prices _ -> not_covered "prices within the theory's own slack"
        | C.Distance -> not_covered "a distance of floats that the theory rounds"
        | C.Avoided k when is_lacking s (List.nth s.C.avoid (Nats.count k)) -> lacks ()
        | C.Avoided k -> refused "avoid: the box is not inside region %d" (Nats.count k)
        | C.Rule k -> refused "rule: rule %d can hold in the box" (Nats.count k)
        | C.Changes -> refused "changes: too few features must change"
        | C.Cell -> refused "cell: the model has the goal in this cell"
        | C.Dual _ | C.Empty -> refused "there are points in the box" in
      find (C.unmarked shapes) c.proof_of (List.map (fun _ -> true) s.C.goal) (List.map (fun (a, _) -> C.root_range a) axes);
      refused "the theory's checker says no"

let certificate data =
  let others = ["mace_set", "sets"; "mace_rows", "rows"; "mace_plan", "plans"] in
  List.iter (fun (name, words) -> if has data name then raise (Not_covered words)) others;
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
  let nodes = match model with Trees model -> Packed.nodes model.raw (field "proof") | Linear _ -> field "proof" in
  let unit = Hints.cost_unit s (Walk.ends nodes) in
  let made = Walk.proof s unit model features sides nodes ~named in
  (match witness, model with
   | Some (point, _), Trees _ when named -> need (Slack.certain s point) "witness: the model may not say so there"
   | _ -> ());
  (s, model, { C.cost_unit = unit; proof_of = made }, witness)
