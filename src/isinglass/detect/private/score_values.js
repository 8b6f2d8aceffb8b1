// Values of a CSV file's fields, read as isinglass reads them: numbers, categories, logarithms.

const NULLS = new Set(["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan",
  "1.#IND", "1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"]);
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const INFINITE = /^([+-]?)inf(?:inity)?$/i;
const TRUTHS = new Map([["true", 1], ["True", 1], ["TRUE", 1],
  ["false", 0], ["False", 0], ["FALSE", 0]]);
const LOOSE_NUMBER = // as Python's float() reads a column's name
  /^[+-]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?$/i;
const LOOSE_WORD = /^[+-]?(?:inf|infinity|nan)$/i;

// The number that a field holds; NaN where it is missing or something else.
function numberIn(text) {
  if (NUMBER.test(text)) return Number(text);
  const word = text.replace(/^[ \t]+|[ \t]+$/g, "");
  if (NUMBER.test(word)) return Number(word);
  const infinite = INFINITE.exec(word);
  if (infinite) return infinite[1] === "-" ? -Infinity : Infinity;
  return TRUTHS.get(word) ?? NaN;
}

function isLooseNumber(text) {
  return LOOSE_NUMBER.test(text.trim()) || LOOSE_WORD.test(text.trim());
}

// What makes two values the same category: a number, or a text that is none.
function categoryKey(value) {
  const number = typeof value === "string" ? numberIn(value) : Number(value);
  return Number.isNaN(number) ? value : number;
}

// Finds the place of a field among declared categories; any other field has the place after them.
function placer(values) {
  const places = new Map(values.map((value, place) => [categoryKey(value), place]));
  return (text) => places.get(categoryKey(text)) ?? values.length;
}

const POINT = 256n; // bits after the point of the edges of logarithmic cells

// The grid of a column whose cells are equal in the logarithm.
function logGrid(low, high) {
  const [m, e] = parts(low), [M, E] = parts(high);
  const shift = POINT + BigInt(E - e);
  let factor = (shift > 0n ? M << shift : M >> -shift) / m; // high / low
  for (let i = 1; i < CELLS; i *= 2) factor = root(factor << POINT);
  return { low, span: logRatio(high, low), m, e, factor, edges: new Map() };
}

function logCell(x, grid) {
  if (x < grid.low) return 0;
  const place = Math.min(CELLS * logRatio(x, grid.low) / grid.span, CELLS - 0.5) || 0;
  let cell = Math.floor(place);
  const doubt = 1e-6 + CELLS * 1e-15 / grid.span;
  if (place - cell > doubt && place - cell < 1 - doubt) return cell;
  while (cell < CELLS - 1 && x >= edgeOf(grid, cell + 1)) cell++;
  while (cell > 0 && x < edgeOf(grid, cell)) cell--;
  return cell;
}

function logRatio(x, low) {
  return x < 2 * low ? Math.log1p((x - low) / low) : Math.log(x) - Math.log(low);
}

// Where a logarithmic cell begins: low (high/low)**(cell/CELLS), rounded once, on demand.
function edgeOf(grid, cell) {
  let found = grid.edges.get(cell);
  if (found === undefined) {
    let power = 1n << POINT, factor = grid.factor;
    for (let left = cell; left; left >>= 1) {
      if (left & 1) power = power * factor >> POINT;
      factor = factor * factor >> POINT;
    }
    found = rounded(grid.m * power, grid.e - Number(POINT));
    grid.edges.set(cell, found);
  }
  return found;
}

// The whole number m and the exponent e of x = m 2**e.
function parts(x) {
  const bits = new BigUint64Array(new Float64Array([x]).buffer)[0];
  const exponent = Number(bits >> 52n & 0x7ffn), digits = bits & ((1n << 52n) - 1n);
  return exponent ? [digits | 1n << 52n, exponent - 1075] : [digits, -1074];
}

// m 2**e rounded to the nearest number; what is cut off below 80 bits leaves its trace in the last.
function rounded(m, e) {
  const cut = Math.max(m.toString(2).length - 80, 0);
  const kept = m >> BigInt(cut), lost = m !== kept << BigInt(cut);
  const half = Math.trunc((e + cut) / 2); // two steps: a single power might be 0
  return Number(lost ? kept | 1n : kept) * 2 ** half * 2 ** (e + cut - half);
}
