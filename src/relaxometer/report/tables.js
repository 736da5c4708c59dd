// Sorting and filtering of every table of the class "sortable", without a network.
"use strict";

// Versions such as 1.17.1 and dates sort by their parts.
const OF_PARTS = /^v?\d+(\.\d+){2}|^\d{4}-\d\d-\d\d/;

const NUMBER = /^[<>≤≥‹›]?[-−+]?(\d[\d,]*\.?\d*|\.\d+)(e[-+]?\d+)?/i;

// The number with which a cell begins, such as 1.31 of "1.31 to 1.4" and 1234 of "1,234 ms"; else NaN.
function leadingNumber(text) {
    const found = NUMBER.exec(text);
    return found ? parseFloat(found[0].replace(/^[<>≤≥‹›]/, "").replaceAll(",", "").replace("−", "-")) : NaN;
}

// Columns in which the largest number is the best.
const LARGEST_FIRST = /\/s\b|per second|harmonic mean|proven|gain|speed-?up|times as fast/i;

// Numbers come before words in either direction, and empty cells last.
function compareCells(a, b, direction, ofParts) {
    if (!a || !b) {
        return !a - !b;
    }
    if (ofParts) {
        return direction * a.localeCompare(b, "en", { numeric: true });
    }
    const x = leadingNumber(a), y = leadingNumber(b);
    if (Number.isNaN(x) !== Number.isNaN(y)) {
        return Number.isNaN(x) - Number.isNaN(y);
    }
    return direction * (Number.isNaN(x) ? a.localeCompare(b, "en", { numeric: true }) : x - y);
}

// The best comes first; the next click turns the order.
function sortBy(table, column) {
    const heads = [...table.tHead.rows[0].cells], head = heads[column];
    const before = head.getAttribute("aria-sort");
    const descending = before ? before === "ascending" : LARGEST_FIRST.test(head.textContent);
    heads.forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const text = (row) => row.cells[column].textContent.trim();
    const rows = [...table.tBodies[0].rows];
    const ofParts = rows.some((row) => OF_PARTS.test(text(row)));
    rows.sort((a, b) => compareCells(text(a), text(b), descending ? -1 : 1, ofParts));
    table.tBodies[0].append(...rows);
}

// Show the rows that contain every word, in whatever column; a word that begins with - must be absent.
function filterRows(table, words, count) {
    const rows = [...table.tBodies[0].rows];
    for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => word.length > 1 && word[0] === "-"
            ? !text.includes(word.slice(1)) : text.includes(word));
    }
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
}

for (const table of document.querySelectorAll("table.sortable")) {
    // By id, since a CSS selector cannot begin with a digit.
    const box = document.getElementById(`${table.id}-filter`);
    const [input, count] = box.querySelectorAll("input, output");
    const filter = () => filterRows(table, input.value.toLowerCase().split(/\s+/).filter(Boolean), count);
    input.addEventListener("input", filter);
    filter();
    [...table.tHead.rows[0].cells].forEach((head, column) => {
        head.querySelector("button").addEventListener("click", () => sortBy(table, column));
    });
}
