// Scores of a private model, whole number by whole number as isinglass computes them in Python.
"use strict";

const FAN = 16, LEAVES = 4096, CELLS = 65536; // the cells of a column, and the leaves of its tree
const MISSING = -1; // the cell of a missing value
const ONE = 4096, LIMIT = 64, FINE = 1024; // see projections.py
const UNIT = ONE * ONE; // terms are whole numbers of 1/UNIT
const BINS = 32, RANGE = 5; // of a density, over scaled values between -RANGE and RANGE
const SCALED_BIN = 2 * RANGE * ONE / BINS;
const SCORE_LEAVES = 256, CLIPPED = 4; // with a single round, projections are not scaled
const UNSET = -(2 ** 31);

// What scoring needs, from the document of the model and the directions of its projections.
function openModel({ model: facts, directions }) {
  const numbers = facts.columns.filter((c) => !c.categories).map(numberColumn);
  const categories = facts.columns.filter((c) => c.categories);
  const n = numbers.length, T = n ? facts.projections : 0, scaledFirst = facts.rounds === 2;
  const W = Float64Array.from(directions.flat());
  const own = facts.terms.map((row, j) =>
    termsOfLeaves(row, LEAVES, facts.middle[j], facts.half[j]));
  const projections = facts.projection_terms.map((row, t) => scaledFirst ? Float64Array.from(row)
    : termsOfLeaves(row, SCORE_LEAVES, facts.projection_middle[t], facts.projection_half[t]));
  return {
    columns: facts.columns, numbers, categories, T, W, own, projections, scaledFirst,
    middle: facts.middle, half: facts.half,
    categoryTerms: facts.category_terms, placers: categories.map((c) => placer(c.categories)),
    bins: projectionBins(scaledFirst, W, n, T),
    edge: scaledFirst ? RANGE * UNIT : Infinity,
    tables: [],
    divisor: facts.columns.length * Math.max(T, 1) * UNIT,
    threshold: facts.threshold,
    v: new Float64Array(T),
  };
}

// A column's grid: where its cells begin, and the width of all of them.
function numberColumn({ name, low, high, step, log }) {
  if (log) return { name, log: logGrid(low, high) };
  const margin = (step ?? 0) / 2, start = low - margin;
  return { name, log: null, low: start, width: high + margin - start };
}

// The cell of a value; values beyond the bounds go to the outermost.
function cellOf(x, column) {
  if (Number.isNaN(x)) return MISSING;
  if (column.log) return logCell(x, column.log);
  const place = (x - column.low) / column.width * CELLS;
  if (place < 0) return 0;
  return place < CELLS ? Math.floor(place) : CELLS - 1;
}

// Equal bins of each projection, from -shift on: whole numbers all.
function projectionBins(scaledFirst, W, n, T) {
  const shift = new Float64Array(T), perBin = new Float64Array(T);
  const count = scaledFirst ? BINS : SCORE_LEAVES;
  for (let t = 0; t < T; t++) {
    let size = 0;
    for (let j = 0; j < n; j++) size += Math.abs(W[j * T + t]);
    shift[t] = scaledFirst ? RANGE * UNIT : Math.min(size, CLIPPED * ONE) * CELLS;
    perBin[t] = 1 / (scaledFirst ? 2 * shift[t] / count : Math.ceil(2 * shift[t] / count));
  }
  return { count, shift, perBin };
}

// The terms of the leaves of a range, and of a missing value after them, where there is one. Far
// beyond the bins, the distance from them is added.
function termsOfLeaves(row, n, middle, half) {
  const found = new Float64Array(n + row.length - BINS);
  for (let leaf = 0; leaf < n; leaf++) {
    const u = scaled((2 * leaf + 1) * (CELLS / n), middle, half);
    const bin = Math.min(Math.max(Math.floor((u + RANGE * ONE) / SCALED_BIN), 0), BINS - 1);
    found[leaf] = row[bin] + Math.max(Math.abs(u) - RANGE * ONE, 0) * ONE;
  }
  found.set(row.slice(BINS), n);
  return found;
}

// round(ONE asinh((x - middle) / half) / asinh 1), where `twice` is 2x, as projections.py rounds.
function scaled(twice, middle, half) {
  const a = twice * FINE - 2 * middle, h = 2 * half;
  const units = ONE * Math.asinh(Math.abs(a) / h) / Math.asinh(1);
  // Whole numbers decide wherever their own rounding could: it is off by less than this.
  const doubt = 600 / h + 1e-3;
  if (Math.abs(units - Math.floor(units) - 0.5) < doubt) return scaledExactly(twice, middle, half);
  return Math.sign(a) * Math.min(Math.round(units), LIMIT * ONE);
}

function scaledExactly(twice, middle, half) {
  const a = BigInt(twice * FINE - 2 * middle), h = BigInt(2 * half);
  const size = a < 0n ? -a : a, one = 1n << 30n, asinh1 = 946367683n;
  let ratio = ((8n * size + root(64n * (a * a + h * h))) << 27n) / h;
  if (ratio < one) ratio = one;
  const units = Number((logarithm(ratio) * BigInt(ONE) + asinh1 / 2n) / asinh1);
  return (a < 0n ? -1 : 1) * Math.min(units, LIMIT * ONE);
}

// 2**30 times the logarithm of x / 2**30, which is at least 1.
function logarithm(x) {
  const one = 1n << 30n;
  let twos = 0n, series = 0n;
  for (const bits of [16n, 8n, 4n, 2n, 1n]) {
    if (x >> bits >= one) {
      twos += bits;
      x >>= bits;
    }
  }
  const s = ((x - one) << 30n) / (x + one), square = (s * s) >> 30n;
  for (let k = 12n; k >= 0n; k--) series = one / (2n * k + 1n) + ((series * square) >> 30n);
  return 2n * ((s * series) >> 30n) + twos * 744261118n;
}

// The whole part of the root of a whole number, by Newton's method from above.
function root(square) {
  let found = 1n << BigInt(Math.ceil(square.toString(2).length / 2));
  for (;;) {
    const next = (found + square / found) >> 1n;
    if (next >= found) return found;
    found = next;
  }
}

// What the middle of a cell brings to projections: scaled once, and kept.
function brought(model, j, cell) {
  if (!model.scaledFirst) return 2 * cell + 1 - CELLS;
  const table = model.tables[j] ??= new Int32Array(CELLS).fill(UNSET);
  if (table[cell] === UNSET) table[cell] = scaled(2 * cell + 1, model.middle[j], model.half[j]);
  return table[cell];
}

// The projections of a record: sums of whole numbers below 2**53, exact in any order.
function project(model, cells) {
  const { T, W, v } = model;
  v.fill(0);
  for (let j = 0; j < model.numbers.length; j++) {
    if (cells[j] === MISSING) continue;
    const u = brought(model, j, cells[j]), start = j * T;
    for (let t = 0; t < T; t++) v[t] += u * W[start + t];
  }
  return v;
}

// The bin of a projection. Half a unit keeps the quotient away from whole numbers and rounding.
function binOf({ count, shift, perBin }, t, v) {
  const place = (v + shift[t] + 0.5) * perBin[t];
  return place < 0 ? 0 : Math.min(Math.floor(place), count - 1);
}

function projectionTerm(model, t, v) {
  const term = model.projections[t][binOf(model.bins, t, v)];
  return term + Math.max(Math.abs(v) - model.edge, 0);
}

function ownTerm(model, j, cell) {
  return model.own[j][cell === MISSING ? LEAVES : Math.floor(cell / FAN)];
}

// The score of a record, from its cells and the places of its categories.
function scoreOf(model, cells, codes) {
  let byColumn = 0, byProjection = 0;
  for (let j = 0; j < model.numbers.length; j++) byColumn += ownTerm(model, j, cells[j]);
  for (let k = 0; k < codes.length; k++) byColumn += model.categoryTerms[k][codes[k]];
  const v = project(model, cells);
  for (let t = 0; t < model.T; t++) byProjection += projectionTerm(model, t, v[t]);
  return (byColumn * Math.max(model.T, 1) + byProjection * model.columns.length) / model.divisor;
}

// What each column adds to the score of a record, largest first: [name, share of the score].
function sharesOf(model, cells, codes, score) {
  const n = model.numbers.length, added = new Map();
  const own = new Float64Array(n), all = model.columns.length;
  for (let j = 0; j < n; j++) own[j] = ownTerm(model, j, cells[j]) / all;
  const v = project(model, cells);
  for (let t = 0; t < model.T; t++) addParts(model, cells, t, projectionTerm(model, t, v[t]), own);
  model.numbers.forEach((column, j) => added.set(column.name, own[j] / UNIT));
  model.categories.forEach((column, k) =>
    added.set(column.name, model.categoryTerms[k][codes[k]] / all / UNIT));
  return model.columns.map(({ name }) => [name, score > 0 ? added.get(name) / score : 0])
    .sort((a, b) => b[1] - a[1]);
}

// A projection's term is shared as the squares of what columns bring to it, seen from the middle.
function addParts(model, cells, t, term, own) {
  const n = own.length, squares = new Float64Array(n);
  let total = 0;
  for (let j = 0; j < n; j++) {
    if (cells[j] !== MISSING) {
      const unseen = model.scaledFirst ? 0 : 2 * model.middle[j] / FINE - CELLS;
      squares[j] = ((brought(model, j, cells[j]) - unseen) * model.W[j * model.T + t]) ** 2;
    }
    total += squares[j];
  }
  for (let j = 0; j < n; j++) own[j] += term * (total > 0 ? squares[j] / total : 1 / n) / model.T;
}
