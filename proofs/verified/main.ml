(* check [--print] FILE: one line with the verdict; with --print a second one, what was read, in canonical form.
   check - : the same for each file that is named on a line of standard input, without --print, one line a file.
   Exit status 0 (accepted), 10 (refused), 2 (unusable), 3 (not covered), as those of ../check.py. *)

let max_bytes = 512 * 1024 * 1024

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

(* Exit status and words about a file, and what was read where it was judged. *)
let judged path =
  try
    let (s, model, c, w) as read = Judge.certificate (load path) in
    let accepted = match model with
      | Reader.Trees _ -> Accepts.accepts s c w
      | Reader.Linear outputs -> Accepts.linear_accepts s outputs c w in
    if not accepted then Judge.blame s model c w;
    ((0, "accepted"), Some read)
  with
  | Reader.Refused words -> ((10, "refused: " ^ words), None)
  | Reader.Not_covered words -> ((3, "not covered: " ^ words), None)
  | Json.Unusable words -> ((2, "unusable: " ^ words), None)
  | Sys_error words -> ((2, "unusable: " ^ words), None)
  | Unix.Unix_error (error, _, what) -> ((2, "unusable: " ^ what ^ ": " ^ Unix.error_message error), None)
  | Stack_overflow -> ((3, "not covered: nested too deeply"), None)
  | Out_of_memory | Z.Overflow -> ((3, "not covered: it needs larger numbers or more memory than there is"), None)

let rec each_line channel =
  match input_line channel with
  | exception End_of_file -> ()
  | path ->
      let (_, words), _ = judged path in
      Printf.printf "%s: %s\n%!" path words;
      each_line channel

let main () =
  let one ~print path =
    let (status, words), read = judged path in
    print_endline words;
    if print then Option.iter (fun read -> print_endline (Printer.all read)) read;
    status in
  match Array.to_list Sys.argv with
  | [_; "-"] -> each_line stdin; 0
  | [_; "--print"; path] -> one ~print:true path
  | [_; path] when path <> "" && path.[0] <> '-' -> one ~print:false path
  | _ -> prerr_endline "use: check [--print] FILE, or check - (names of files, one a line, from standard input)"; 2

let () = exit (main ())
