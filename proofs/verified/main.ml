(* check [--print] FILE: one line with the verdict; with --print a second one, what was read, in canonical form.
   Exit status 0 (accepted), 10 (refused), 2 (unusable), 3 (not covered), as those of ../check.py. *)

let max_bytes = 128 * 1024 * 1024

let read_all channel =
  let buffer = Buffer.create 65536 in
  let chunk = Bytes.create 65536 in
  let rec go () =
    let n = input channel chunk 0 65536 in
    if n > 0 then begin
      Buffer.add_subbytes buffer chunk 0 n;
      if Buffer.length buffer > max_bytes then Json.unusable "more than %d bytes of text" max_bytes;
      go ()
    end in
  go ();
  Buffer.contents buffer

(* The text of a file, unpacked by gzip(1) if it is packed. *)
let text_of path =
  if (Unix.stat path).Unix.st_kind <> Unix.S_REG then Json.unusable "this is no regular file";
  let channel = open_in_bin path in
  let raw = Fun.protect ~finally:(fun () -> close_in channel) (fun () -> read_all channel) in
  if String.length raw < 2 || String.sub raw 0 2 <> "\x1f\x8b" then raw
  else begin
    let source = Unix.openfile path [Unix.O_RDONLY; Unix.O_CLOEXEC] 0 in
    let from, into = Unix.pipe ~cloexec:true () in
    let child = Unix.create_process "gzip" [| "gzip"; "-dc" |] source into Unix.stderr in
    Unix.close source;
    Unix.close into;
    let channel = Unix.in_channel_of_descr from in
    let text = Fun.protect ~finally:(fun () -> close_in channel) (fun () -> read_all channel) in
    match Unix.waitpid [] child with
    | _, Unix.WEXITED 0 -> text
    | _ -> Json.unusable "damaged gzip"
  end

let sha256 text =
  let from, into = Unix.open_process_args "sha256sum" [| "sha256sum" |] in
  output_string into text;
  close_out into;
  let line = input_line from in
  ignore (Unix.close_process (from, into));
  String.sub line 0 64

(* The certificate in a file, with its model in it. *)
let load path =
  let data = Json.parse (text_of path) in
  let replace name change = function
    | Json.Object found -> Json.Object (List.map (fun (n, v) -> (n, if n = name then change v else v)) found)
    | other -> other in
  let shared = function
    | Json.Object ["sha256", Json.Text digest] ->
        let is_hex = function '0' .. '9' | 'a' .. 'f' -> true | _ -> false in
        if String.length digest <> 64 || not (String.for_all is_hex digest) then Json.unusable "statement: model: sha256";
        let file = Filename.concat (Filename.dirname path) (digest ^ ".model.json.gz") in
        if not (Sys.file_exists file) then Json.unusable "the model of this certificate is not beside it, in %s.model.json.gz" digest;
        let text = text_of file in
        if sha256 text <> digest then Json.unusable "%s.model.json.gz holds something else" digest;
        Json.parse text
    | Json.Object found when List.mem_assoc "sha256" found -> Json.unusable "statement: model: expected sha256 alone"
    | model -> model in
  replace "statement" (replace "model" shared) data

let main () =
  let print, path = match Array.to_list Sys.argv with
    | [_; "--print"; path] -> (true, path)
    | [_; path] when path <> "" && path.[0] <> '-' -> (false, path)
    | _ -> prerr_endline "use: check [--print] FILE"; exit 2 in
  let say status words = print_endline words; status in
  try
    let (s, model, c, w) as read = Reader.certificate (load path) in
    let accepted = match model with
      | Reader.Trees _ -> Accepts.accepts s c w
      | Reader.Linear outputs -> Accepts.linear_accepts s outputs c w in
    let status = if accepted then say 0 "accepted" else say 10 "refused: the theory's checker says no" in
    if print then print_endline (Printer.all read);
    status
  with
  | Reader.Refused words -> say 10 ("refused: " ^ words)
  | Reader.Not_covered words -> say 3 ("not covered: " ^ words)
  | Json.Unusable words -> say 2 ("unusable: " ^ words)
  | Sys_error words -> say 2 ("unusable: " ^ words)
  | Unix.Unix_error (error, _, what) -> say 2 ("unusable: " ^ what ^ ": " ^ Unix.error_message error)
  | Stack_overflow -> say 3 "not covered: nested too deeply"
  | Out_of_memory | Z.Overflow -> say 3 "not covered: it needs larger numbers or more memory than there is"

let () = exit (main ())
