(* JSON as FORMAT.md allows it: whole numbers, no field twice. *)

type t =
  | Null
  | Truth of bool
  | Whole of Z.t
  | Text of string
  | List of t array
  | Object of (string * t) list

exception Unusable of string

let unusable form = Printf.ksprintf (fun words -> raise (Unusable words)) form

let max_digits = 4000

(* A code point as UTF-8; half a pair is kept as three bytes, so that no two texts become one. *)
let add_code buffer code =
  let byte b = Buffer.add_char buffer (Char.chr b) in
  if code < 0x80 then byte code
  else if code < 0x800 then (byte (0xc0 lor (code lsr 6)); byte (0x80 lor (code land 63)))
  else if code < 0x10000 then begin
    byte (0xe0 lor (code lsr 12)); byte (0x80 lor ((code lsr 6) land 63)); byte (0x80 lor (code land 63))
  end else begin
    byte (0xf0 lor (code lsr 18)); byte (0x80 lor ((code lsr 12) land 63));
    byte (0x80 lor ((code lsr 6) land 63)); byte (0x80 lor (code land 63))
  end

let max_values = 40_000_000
let max_depth = 900

(* Raises Unusable unless the bytes are UTF-8. *)
let check_encoding text =
  let length = String.length text in
  let at i = if i < length then Char.code text.[i] else 0 in
  let rec go i =
    if i < length then begin
      let c = at i in
      let more = if c < 0x80 then 0 else if c < 0xc2 then -1 else if c < 0xe0 then 1 else if c < 0xf0 then 2
        else if c < 0xf5 then 3 else -1 in
      let second = at (i + 1) in
      let bad = more < 0 || (c = 0xe0 && second < 0xa0) || (c = 0xed && second > 0x9f) || (c = 0xf0 && second < 0x90)
        || (c = 0xf4 && second > 0x8f) in
      if bad then unusable "no UTF-8 text (byte %d)" i;
      for k = 1 to more do if at (i + k) land 0xc0 <> 0x80 then unusable "no UTF-8 text (byte %d)" i done;
      go (i + more + 1)
    end in
  go 0

let check_size text =
  let values = ref 0 in
  String.iter (function ',' | '[' | '{' -> incr values | _ -> ()) text;
  if !values > max_values then unusable "more than %d values" max_values

let parse text =
  check_encoding text;
  check_size text;
  let length = String.length text in
  let at = ref 0 in
  let peek () = if !at < length then text.[!at] else '\000' in
  let rec blanks () = match peek () with ' ' | '\t' | '\n' | '\r' -> incr at; blanks () | _ -> () in
  let expect word value =
    let size = String.length word in
    if !at + size > length || String.sub text !at size <> word then unusable "no JSON text (byte %d)" !at;
    at := !at + size;
    value in
  let four () =
    if !at + 4 > length then unusable "no JSON text (byte %d)" !at;
    let digits = String.sub text !at 4 in
    String.iter (function '0' .. '9' | 'a' .. 'f' | 'A' .. 'F' -> () | _ -> unusable "no JSON text (byte %d)" !at) digits;
    at := !at + 4;
    int_of_string ("0x" ^ digits) in
  let escaped buffer =
    let plain c = Buffer.add_char buffer c in
    let c = peek () in
    incr at;
    match c with
    | '"' | '\\' | '/' -> plain c
    | 'b' -> plain '\b' | 'f' -> plain '\012' | 'n' -> plain '\n' | 'r' -> plain '\r' | 't' -> plain '\t'
    | 'u' ->
        let code = four () in
        let pair = code >= 0xd800 && code < 0xdc00 && !at + 6 <= length && text.[!at] = '\\' && text.[!at + 1] = 'u' in
        if not pair then add_code buffer code
        else begin
          let back = !at in
          at := !at + 2;
          let low = four () in
          if low >= 0xdc00 && low < 0xe000 then add_code buffer (0x10000 + ((code - 0xd800) lsl 10) + (low - 0xdc00))
          else (at := back; add_code buffer code)
        end
    | _ -> unusable "no JSON text (byte %d)" !at in
  let quoted () =
    incr at;
    let from = !at in
    while (match peek () with '"' | '\\' -> false | c -> c >= ' ') do incr at done;
    if peek () = '"' then (incr at; String.sub text from (!at - 1 - from))
    else begin
      let buffer = Buffer.create 64 in
      Buffer.add_substring buffer text from (!at - from);
      let rec go () =
        match peek () with
        | '"' -> incr at
        | '\\' -> incr at; escaped buffer; go ()
        | c when c < ' ' -> unusable "no JSON text (byte %d)" !at
        | c -> Buffer.add_char buffer c; incr at; go () in
      go ();
      Buffer.contents buffer
    end in
  let whole () =
    let from = !at in
    if peek () = '-' then incr at;
    let first = !at in
    while (match peek () with '0' .. '9' -> true | _ -> false) do incr at done;
    let digits = !at - first in
    if digits = 0 || (digits > 1 && text.[first] = '0') then unusable "no JSON text (byte %d)" from;
    if digits > max_digits then unusable "a number has more than %d digits" max_digits;
    (match peek () with '.' | 'e' | 'E' -> unusable "a number is no integer; others are written as text" | _ -> ());
    Whole (Z.of_string (String.sub text from (!at - from))) in
  let depth = ref 0 in
  let inside read =
    incr at;
    incr depth;
    if !depth > max_depth then unusable "nested deeper than %d" max_depth;
    let found = read () in
    decr depth;
    found in
  let rec value () =
    blanks ();
    match peek () with
    | '{' -> inside (fun () -> Object (members []))
    | '[' -> inside (fun () -> List (entries ()))
    | '"' -> Text (quoted ())
    | 't' -> expect "true" (Truth true)
    | 'f' -> expect "false" (Truth false)
    | 'n' -> expect "null" Null
    | _ -> whole ()
  and entries () =
    blanks ();
    if peek () = ']' then (incr at; [||])
    else
      let rec go found =
        let found = value () :: found in
        blanks ();
        match peek () with
        | ',' -> incr at; go found
        | ']' -> incr at; Array.of_list (List.rev found)
        | _ -> unusable "no JSON text (byte %d)" !at in
      go []
  and members found =
    blanks ();
    if peek () = '}' && found = [] then (incr at; [])
    else begin
      if peek () <> '"' then unusable "no JSON text (byte %d)" !at;
      let name = quoted () in
      if List.mem_assoc name found then unusable "an object has the same field twice";
      blanks ();
      ignore (expect ":" ());
      let found = (name, value ()) :: found in
      blanks ();
      match peek () with
      | ',' -> incr at; blanks (); if peek () <> '"' then unusable "no JSON text (byte %d)" !at; members found
      | '}' -> incr at; List.rev found
      | _ -> unusable "no JSON text (byte %d)" !at
    end in
  let found = value () in
  blanks ();
  if !at <> length then unusable "no JSON text (byte %d)" !at;
  found
