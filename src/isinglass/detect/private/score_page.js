// The page itself: a file is chosen, its records are scored, the strangest are shown.

const KEPT = 1000; // strangest records that are kept to be shown
const DATA = JSON.parse(document.getElementById("model").textContent);
const MODEL = openModel(DATA);
const at = (id) => document.getElementById(id);
const shown = (count) => count.toLocaleString("en-US");
let turn = 0; // a file that is chosen while another is scored takes its place
let result = null;

// Scores every record of a file; null if another file was chosen meanwhile.
async function scoreFile(file, isCurrent, progress) {
  const found = { name: file.name, scores: new Float64Array(1 << 12), n: 0, above: 0, strangest: [] };
  let rows = null, reader = null, done = 0;
  await refuseOtherKinds(file);
  for await (const piece of piecesOf(file)) {
    if (!isCurrent()) return null;
    rows ??= new RowReader(delimiterOf(file.name, piece));
    done += PIECE;
    for (const fields of rows.rows(piece, done >= file.size)) {
      if (reader) keep(found, reader.read(fields));
      else reader = recordReader(fields);
    }
    if (done === PIECE) reader?.refuseText();
    progress(Math.min(done / file.size, 1));
    await new Promise((resolve) => setTimeout(resolve)); // the page paints, and hears its reader
  }
  if (!found.n) throw new FileError("The file has a header but no rows.");
  cut(found.strangest);
  return found;
}

// Tells what else a file may be by how it begins.
async function refuseOtherKinds(file) {
  if (!file.size) throw new FileError("The file is empty.");
  const start = new Uint8Array(await bytesOf(file.slice(0, 4), 0));
  const begins = (...bytes) => bytes.every((byte, i) => start[i] === byte);
  const text = String.fromCharCode(...start);
  if (["PAR1", "ARRO", "FEA1"].includes(text) || begins(0x1f, 0x8b) || begins(0x28, 0xb5, 0x2f)) {
    throw new FileError("This page reads plain CSV files; isinglass score reads Parquet, Arrow and "
      + "compressed files.");
  }
  if (text.startsWith("PK")) {
    throw new FileError("This is a workbook or an archive; save the records as CSV.");
  }
}

// Reads the fields of a row as cells and places of categories; `header` says where they stand.
function recordReader(header) {
  const places = placesOf(header, MODEL.columns);
  const numbers = MODEL.numbers.map((column) => ({ column, place: places.get(column.name) }));
  const listed = MODEL.categories.map((c, k) => [places.get(c.name), MODEL.placers[k]]);
  const cells = new Int32Array(numbers.length), codes = new Int32Array(listed.length);
  let row = 1;
  const read = (fields) => {
    row++;
    if (fields.length !== header.length) {
      throw new FileError(`Row ${shown(row)} (the header is row 1) has ${fields.length} fields where `
        + `the header has ${header.length}; mend it, or close the quotation mark that opens there.`);
    }
    numbers.forEach((number, j) => {
      const field = fields[number.place], x = numberIn(field);
      if (!Number.isNaN(x)) number.some = true;
      else if (!number.some && !NULLS.has(field)) number.text ??= field;
      cells[j] = cellOf(x, number.column);
    });
    listed.forEach(([place, of], k) => { codes[k] = of(fields[place]); });
    return { cells, codes };
  };
  const refuseText = () => numbers.forEach(({ column, some, text }) => {
    if (!some && text !== undefined) refuseColumn(column, text);
  });
  return { read, refuseText };
}

// A single value that is no number counts as missing; a column without any number is a mistake.
function refuseColumn(column, text) {
  const comma = /^\s*[+-]?\d+,\d+\s*$/.test(text);
  throw new FileError(`Column ${printable(column.name)} holds no number at the beginning of the `
    + `file${comma ? ": decimals need a point, not a comma" : ""}.`);
}

// Adds a record's score; the record itself is kept only while it is among the strangest.
function keep(found, { cells, codes }) {
  const score = scoreOf(MODEL, cells, codes);
  if (found.n === found.scores.length) {
    const longer = new Float64Array(2 * found.n);
    longer.set(found.scores);
    found.scores = longer;
  }
  found.scores[found.n] = score;
  if (MODEL.threshold !== null && score > MODEL.threshold) found.above++;
  if (!(score <= found.least)) {
    found.strangest.push({ row: found.n, score, cells: cells.slice(), codes: codes.slice() });
    if (found.strangest.length === 2 * KEPT) {
      cut(found.strangest);
      found.least = found.strangest[KEPT - 1].score;
    }
  }
  found.n++;
}

// The strangest first, of equal ones the first rows.
function cut(strangest) {
  strangest.sort((a, b) => b.score - a.score || a.row - b.row);
  strangest.length = Math.min(strangest.length, KEPT);
}

async function openFile(file) {
  const mine = ++turn, isCurrent = () => mine === turn;
  at("results").hidden = at("error").hidden = true;
  at("error").textContent = "";
  at("progress").hidden = false;
  say(`Scoring ${printable(file.name)} …`);
  try {
    const found = await scoreFile(file, isCurrent, (share) => { at("progress").value = share; });
    if (!found) return;
    result = found;
    say(`Scored ${shown(found.n)} record${found.n > 1 ? "s" : ""} of ${printable(file.name)}.`);
    show();
  } catch (error) {
    if (!isCurrent()) return;
    say("");
    at("error").textContent = reason(error);
    at("error").hidden = false;
  } finally {
    if (isCurrent()) at("progress").hidden = true;
  }
}

function reason(error) {
  if (error instanceof FileError) return error.message;
  return "The file cannot be scored: it is not a well-formed table, or too large for this browser.";
}

function say(text) {
  at("status").textContent = text;
}

// What was found, in facts and a table; all text goes in as text, never as markup.
function show() {
  const facts = [[shown(result.n), "records"]];
  if (MODEL.threshold !== null) facts.push([shown(result.above), "above the threshold"]);
  at("found").replaceChildren(...facts.map(([value, what]) => {
    const item = element("li", ""), bold = element("b", value);
    item.append(bold, what);
    return item;
  }));
  showStrangest();
  at("results").hidden = false;
}

function showStrangest() {
  if (!result) return;
  const asked = Math.floor(Number(at("most").value)) || 1;
  const rows = result.strangest.slice(0, Math.min(Math.max(asked, 1), KEPT));
  at("strangest").replaceChildren(...rows.map(strangeRow));
}

function strangeRow({ row, score, cells, codes }) {
  const shares = sharesOf(MODEL, cells, codes, score).slice(0, 3);
  const by = shares.map(([name, share]) => `${printable(name)} (${Math.round(100 * share)}\u00a0%)`);
  const line = element("tr", "");
  const cellsOfLine = [["score", score.toPrecision(6)]];
  if (MODEL.threshold !== null) {
    cellsOfLine.push(["above threshold", score > MODEL.threshold ? "yes" : "no"]);
  }
  const head = element("th", `row ${shown(row)}`);
  head.scope = "row";
  line.append(head);
  for (const [label, text] of [...cellsOfLine, ["largest shares", by.join(", ")]]) {
    const cell = element("td", text);
    cell.dataset.label = label;
    line.append(cell);
  }
  return line;
}

function element(kind, text) {
  const made = document.createElement(kind);
  made.textContent = text;
  return made;
}

// All scores as a CSV file, made here and handed to the browser as a download.
async function download() {
  const pieces = ["row,score\n"], step = 50_000, { scores, n, name } = result;
  for (let start = 0; start < n; start += step) {
    let text = "";
    for (let i = start; i < Math.min(start + step, n); i++) text += `${i},${scores[i]}\n`;
    pieces.push(text);
    await new Promise((resolve) => setTimeout(resolve));
  }
  const link = element("a", "");
  link.href = URL.createObjectURL(new Blob(pieces, { type: "text/csv" }));
  link.download = `${name.replace(/\.[^.]*$/, "")}-scores.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// A file may be chosen, or dropped anywhere on the page.
function listen() {
  at("file").addEventListener("change", () => { if (at("file").files[0]) openFile(at("file").files[0]); });
  at("file").addEventListener("click", () => { at("file").value = ""; }); // the same file again
  at("most").addEventListener("input", showStrangest);
  at("download").addEventListener("click", download);
  addEventListener("dragover", (event) => {
    event.preventDefault();
    at("drop").classList.add("over");
  });
  addEventListener("dragleave", () => at("drop").classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    at("drop").classList.remove("over");
    if (event.dataTransfer.files[0]) openFile(event.dataTransfer.files[0]);
  });
  at("file").disabled = false;
}

listen();
