// What the checks written in JavaScript have in common: a list of them, one run, a summary.

import assert from "node:assert/strict";

const all = process.env.CHECK_ALL;
const differences = [];
const checks = [];

/** A check: it has an open database to itself and fails at the first difference. */
export const check = (name, about, run) => checks.push({ name, about, run });

/** A step that does not depend on others: with CHECK_ALL the next goes on. */
export async function attempt(run) {
    try {
        return await run();
    } catch (error) {
        if (!all) throw error;
        differences.push(describe(error));
    }
}

/** The server's code, if it is in what a library made of its error. */
const codeOf = (error) => error?.code ?? error?.cause?.code ?? error?.original?.code;

function describe(error) {
    const line = /\/checks\.mjs:(\d+)/.exec(error.stack ?? "")?.[1];
    const code = codeOf(error) && codeOf(error) !== "ERR_ASSERTION" ? ` ${codeOf(error)}` : "";
    const message = String((error.cause ?? error.original ?? error).message).replaceAll("\n", " | ");
    return `line ${line}: ${error.constructor.name}${code}: ${message}`;
}

export function equal(have, want) {
    try {
        assert.deepStrictEqual(have, want);
    } catch (error) {
        if (!all) throw error;
        differences.push(describe(error));
    }
}

export async function fails(code, run) {
    let caught;
    try {
        await run();
    } catch (error) {
        caught = error;
    }
    equal(codeOf(caught), code);
    return caught ?? {};
}

/** Runs the checks, or those that the command line names, each for so many seconds at most. */
export async function main(tool, seconds) {
    const only = process.argv.slice(2);
    let [done, failed] = [0, 0];
    for (const { name, about, run } of checks) {
        if (only.length > 0 && !only.includes(name)) continue;
        differences.length = 0;
        let timer;
        try {
            const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`no end within ${seconds} s`)), seconds * 1000)));
            await Promise.race([run(), late]);
        } catch (error) {
            if (!all) console.error(error);
            differences.push(describe(error));
        }
        clearTimeout(timer);
        if (differences.length === 0) {
            done++;
            console.log(`${tool}: ${name}: ${about}`);
            continue;
        }
        failed++;
        for (const difference of differences) console.error(`${tool}: FAILED ${name}: ${difference}`);
        if (!all) break;
    }
    console.log(`${tool}: ${done} checks${failed > 0 ? `, ${failed} FAILED` : ""}`);
    process.exit(failed > 0 ? 1 : 0);
}
