(* Coq's natural numbers from and to machine integers. *)

module C = Accepts

let known = Hashtbl.create 64
let rec nat n =
  match Hashtbl.find_opt known n with
  | Some found -> found
  | None ->
      let found = if n = 0 then C.O else C.S (nat (n - 1)) in
      Hashtbl.add known n found;
      found

let count n =
  let rec go k = function C.O -> k | C.S n -> go (k + 1) n in
  go 0 n
