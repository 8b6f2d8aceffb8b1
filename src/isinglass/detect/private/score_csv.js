// Reader of CSV files, piece by piece, as isinglass reads them; its errors quote no value.

class FileError extends Error {}

const PIECE = 1 << 20; // bytes that are read, decoded and scored before the page may breathe
const LONGEST_ROW = 1 << 24;
const [QUOTE, LF, CR] = [34, 10, 13];

// The text of a file, in pieces.
async function* piecesOf(file) {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for (let at = 0; at < file.size; at += PIECE) {
    yield decoded(decoder, await bytesOf(file, at), at + PIECE >= file.size);
  }
}

function decoded(decoder, bytes, last) {
  try {
    return decoder.decode(bytes, { stream: !last });
  } catch {
    throw new FileError("The file is not UTF-8 text; save it as UTF-8, or use isinglass score with "
      + "--encoding.");
  }
}

async function bytesOf(file, at) {
  try {
    return await file.slice(at, at + PIECE).arrayBuffer();
  } catch {
    throw new FileError("The file cannot be read: it was moved, changed or closed to you.");
  }
}

// Cuts text that arrives in pieces into rows of fields. Quoted fields may hold anything; lines
// with nothing at all are passed over.
class RowReader {
  constructor(delimiter) {
    this.delimiter = delimiter.charCodeAt(0);
    this.rest = "";
    this.next = 0; // where the row after the one that was read begins
  }

  *rows(piece, last) {
    const text = this.rest + piece;
    let at = 0;
    while (at < text.length) {
      const code = text.charCodeAt(at);
      if (code === LF || code === CR) {
        at++;
        continue;
      }
      const fields = this.#row(text, at, last);
      if (!fields) break;
      at = this.next;
      yield fields;
    }
    this.rest = text.slice(at);
    if (this.rest.length > LONGEST_ROW || (last && this.rest)) {
      throw new FileError("A row is too long, or a quotation mark is never closed.");
    }
  }

  // The fields of the row that begins there, or nothing while its end has not been seen.
  #row(text, at, last) {
    const fields = [];
    for (;;) {
      let quoted = "";
      if (text.charCodeAt(at) === QUOTE) {
        [quoted, at] = quotedField(text, at + 1, last);
        if (at < 0) return null;
      }
      let end = at, code = NaN;
      for (; end < text.length; end++) {
        code = text.charCodeAt(end);
        if (code === this.delimiter || code === LF || code === CR) break;
      }
      if (end === text.length && !last) return null;
      fields.push(quoted + text.slice(at, end));
      at = end + 1;
      if (end < text.length && code === this.delimiter) continue;
      this.next = at;
      return fields;
    }
  }
}

// What stands in quotation marks, a doubled one for one, and the place after the closing one; -1
// while that has not been seen.
function quotedField(text, at, last) {
  let found = "";
  for (;;) {
    const close = text.indexOf('"', at);
    if (close < 0 || (close + 1 === text.length && !last)) return ["", -1];
    found += text.slice(at, close);
    if (text.charCodeAt(close + 1) !== QUOTE) return [found, close + 1];
    found += '"';
    at = close + 2;
  }
}

// The delimiter that the first line has most of.
function delimiterOf(name, text) {
  if (/\.tsv$/i.test(name)) return "\t";
  const line = text.split(/[\r\n]/, 1)[0];
  const counts = [",", ";", "\t", "|"].map((d) => [d, line.split(d).length]);
  return counts.reduce((best, one) => one[1] > best[1] ? one : best)[0];
}

// Where the model's columns stand in the file.
function placesOf(header, columns) {
  const counted = (first) => header.every((name, i) => name === String(i + first));
  if (header.some(isLooseNumber) && !counted(0) && !counted(1)) {
    throw new FileError("The file seems to have no header: there are numbers among its column "
      + "names. Put a line of names before the records.");
  }
  const seen = new Set(), repeated = new Set();
  for (const name of header) (seen.has(name) ? repeated : seen).add(name);
  if (repeated.size) {
    throw new FileError(`The file has more than one column named ${listed([...repeated])}.`);
  }
  const lacking = columns.filter(({ name }) => !seen.has(name)).map(({ name }) => name);
  if (lacking.length) {
    throw new FileError(`The file lacks columns of the model: ${listed(lacking)}.`);
  }
  return new Map(columns.map(({ name }) => [name, header.indexOf(name)]));
}

// Names for a message: the first few, the others counted.
function listed(names) {
  const more = names.length > 8 ? ` and ${names.length - 8} more` : "";
  return names.slice(0, 8).map(printable).join(", ") + more;
}

// Text on one line, cut short, with a code in place of what has no shape or turns words around.
function printable(text) {
  const shown = text.length > 60 ? `${text.slice(0, 59)}…` : text;
  return shown.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}
