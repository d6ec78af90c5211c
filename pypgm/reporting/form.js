"use strict";
// The values of a schema are kept as the JSON they were written in: numbers that JavaScript cannot hold stay exact.

/** Return an object as JSON, of pairs of a name and a value that is JSON; with a line an entry. */
function objectText(pairs, indent) {
  const lines = pairs.map(([name, raw]) => `\n${indent} ${JSON.stringify(name)}: ${raw}`);
  return pairs.length ? `{${lines.join(",")}\n${indent}}` : "{}";
}

/** Return the warning of the questions that are not settled, as a pair in a list; empty where there is none. */
function warningPairs(state, answers, place, name) {
  const left = state.questions.filter((q, i) => q.place === place && q.name === name && !answers.settled.includes(i));
  return left.length ? [["warning", JSON.stringify(left.map((q) => q.note).join("; "))]] : [];
}

/** Return pairs with changed values; null removes a field, and a new field comes last. */
function changed(pairs, changes) {
  const names = pairs.map(([name]) => name);
  const kept = pairs.map(([name, raw]) => [name, name in changes ? changes[name] : raw]);
  const added = Object.entries(changes).filter(([name]) => !names.includes(name));
  return [...kept, ...added].filter(([, raw]) => raw !== null);
}

/** Return the JSON of a column's declaration. */
function columnText(state, answers, column, place) {
  const accepted = answers.accepted.map(([i, j]) => [state.questions[i], state.questions[i].proposals[j]]);
  const declared = accepted.filter(([q, proposal]) => q.place === "columns" && q.name === column.name && proposal.entry);
  if (declared.length) {
    const proposal = declared[declared.length - 1][1];
    const left = proposal.isMade ? [] : warningPairs(state, answers, "columns", column.name);
    return objectText([...proposal.entry, ...left], "  ");
  }
  if (column.entry === null) {
    return column.raw;
  }
  const changes = { ...answers.changes[place] };
  const ofBins = warningPairs(state, answers, "bins", column.name);
  if (column.settledBins !== null && !ofBins.length && !("bins" in changes)) {
    changes.bins = column.settledBins;
  }
  return objectText([...changed(column.entry, changes), ...warningPairs(state, answers, "columns", column.name)], "  ");
}

/** Return the finished schema as JSON, of the state of a form and the answers on it. */
function finished(state, answers) {
  const isSettled = (i) => answers.settled.includes(i);
  const columns = state.columns.flatMap((column, place) =>
    answers.dropped.includes(place) ? [] : [[column.name, columnText(state, answers, column, place)]]);
  const dropped = state.columns.filter((_, place) => answers.dropped.includes(place)).map((column) => column.name);
  const rules = state.rules.flatMap((rule, place) =>
    answers.droppedRules.includes(place) ? [] :
      [state.questions.some((q, i) => q.place === "rules" && q.name === String(place) && !isSettled(i)) ? rule.raw : rule.settled]);
  for (const [i, j] of answers.accepted) {
    if (!state.questions[i].proposals[j].entry) {
      rules.push(state.questions[i].proposals[j].raw);
    }
  }
  rules.push(...answers.newRules);
  const made = answers.accepted.filter(([i, j]) => state.questions[i].proposals[j].isMade).map(([i]) => state.questions[i].name);
  const isGone = (q) => (q.place === "columns" && made.includes(q.name)) || dropped.includes(q.name) ||
    (q.place === "rules" && answers.droppedRules.includes(Number(q.name))) || (q.place === "person" && answers.person === null);
  const isLeft = (q, i) => !isSettled(i) && !isGone(q);
  const left = state.questions.filter(isLeft);
  const names = [...new Set(left.filter((q) => q.place !== "person" && q.proposals.length).map((q) => q.name))];
  const proposals = names.map((name) => [name, objectText(
    left.filter((q) => q.name === name && q.proposals.length && q.place !== "person")
      .map((q) => [q.note, `[${q.proposals.map((proposal) => proposal.raw).join(", ")}]`]), "  ")]);
  const codes = state.codes.filter(([code]) => state.keptCodes.includes(code) || left.some((q) => q.code === code));
  const person = answers.person === null ? [] :
    [...changed(state.person ?? [], answers.person), ...warningPairs(state, answers, "person", "")];
  const entries = {
    columns: objectText(columns, " "),
    rules: rules.length ? `[\n  ${rules.join(",\n  ")}\n ]` : null,
    proposals: proposals.length ? objectText(proposals, " ") : null,
    codes: codes.length ? objectText(codes, " ") : null,
    warning: warningPairs(state, answers, "table", "").map(([, raw]) => raw)[0] ?? null,
    person: person.length ? objectText(person, " ") : null,
    records_per_person: answers.recordsPerPerson,
    drop: state.drop.length + dropped.length === 0 ? state.emptyDrop : state.isDropList
      ? `[${[...state.drop.map(([name]) => name), ...dropped].map((name) => JSON.stringify(name)).join(", ")}]`
      : objectText([...state.drop, ...dropped.map((name) => [name, '""'])], " "),
  };
  const top = state.top.map(([name, raw]) => [name, name in entries ? entries[name] : raw]);
  const further = Object.entries(entries).filter(([name]) => !state.top.some(([known]) => known === name));
  return objectText([...top, ...further].filter(([, raw]) => raw !== null), "") + "\n";
}

/** Return the JSON of what stands in a field of the form: null where it is empty; an error where it is no JSON. */
function rawOf(input) {
  if (input.value === input.defaultValue) {
    return input.dataset.raw || null;
  }
  const text = input.value.trim();
  if (text === "") {
    return null;
  }
  if (input.dataset.type !== "json" && /^[[{]/.test(text)) {
    return JSON.stringify(JSON.parse(text));
  }
  if (input.dataset.type === "text") {
    return JSON.stringify(text);
  }
  if (input.dataset.type === "lines") {
    return JSON.stringify(text.split("\n").map((line) => line.trim()).filter((line) => line !== ""));
  }
  JSON.parse(text);
  return text;
}

/** Return the answers on the page; fields that are no JSON are marked, and counted in `nWrong`. */
function answersOn(page) {
  let nWrong = 0;
  const read = (input) => {
    try {
      input.removeAttribute("aria-invalid");
      return rawOf(input);
    } catch {
      input.setAttribute("aria-invalid", "true");
      nWrong += 1;
      return null;
    }
  };
  const ticked = (kind) => [...page.querySelectorAll(`input[data-${kind}]`)].filter((box) => box.checked);
  const changes = {};
  for (const input of page.querySelectorAll("[data-column][data-field]")) {
    const raw = read(input);
    if (input.value !== input.defaultValue) {
      (changes[input.dataset.column] ??= {})[input.dataset.field] = raw;
    }
  }
  const person = {};
  for (const input of page.querySelectorAll("[data-person]")) {
    const raw = read(input);
    if (raw !== null || input.dataset.raw) {
      person[input.dataset.person] = raw;
    }
  }
  const isPerson = typeof person.column === "string";
  return {
    nWrong,
    settled: ticked("question").map((box) => Number(box.dataset.question)),
    accepted: ticked("proposal").map((box) => box.dataset.proposal.split(" ").map(Number)),
    dropped: ticked("drop").map((box) => Number(box.dataset.drop)),
    droppedRules: ticked("rule").map((box) => Number(box.dataset.rule)),
    newRules: page.querySelector("#rules").value.split("\n").map((line) => line.trim()).filter((line) => line !== "")
      .map((line) => JSON.stringify(line)),
    changes,
    person: isPerson ? person : null,
    recordsPerPerson: isPerson ? null : read(page.querySelector("#records")),
  };
}

/** Make the page work: ticks that follow from others, how far it is, and the button that saves. */
function start(page) {
  const state = JSON.parse(page.querySelector("#state").textContent);
  const boxes = [...page.querySelectorAll("input[data-question]")];
  const show = () => {
    const answers = answersOn(page);
    const isOut = (box) => box.closest("[data-card]")?.querySelector("input[data-drop]")?.checked;
    const n = boxes.filter((box) => box.checked || isOut(box)).length;
    page.querySelector("#done").textContent = `${n} of ${boxes.length} questions answered`;
    page.querySelector("#wrong").hidden = answers.nWrong === 0;
    page.querySelector("#save").disabled = answers.nWrong > 0;
    return answers;
  };
  page.addEventListener("input", (event) => {
    const { dataset, value, defaultValue, checked } = event.target;
    const [i] = (dataset.proposal ?? "").split(" ").map(Number);
    for (const box of boxes) {
      const question = state.questions[box.dataset.question];
      const isOfField = dataset.field && question.place === "columns" &&
        state.columns[dataset.column].name === question.name && question.fields.includes(dataset.field);
      const isOfPerson = (dataset.person || event.target.id === "records") && (question.place === "person" || question.code === "person?");
      if (((isOfField || isOfPerson) && value !== defaultValue) || (dataset.proposal && checked && box.dataset.question === String(i))) {
        box.checked = true;
      }
    }
    show();
  });
  page.querySelector("#save").addEventListener("click", () => {
    const link = page.createElement("a");
    link.href = URL.createObjectURL(new Blob([finished(state, show())], { type: "application/json" }));
    link.download = state.file;
    link.click();
  });
  show();
}

if (typeof document !== "undefined") {
  start(document);
}
