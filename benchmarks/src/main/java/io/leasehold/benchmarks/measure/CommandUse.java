package io.leasehold.benchmarks.measure;

/**
 * The use of one command, as counted by the server.
 *
 * @param calls the number of calls, including those from scripts
 * @param micros the total time; a script's time includes that of its commands
 */
public record CommandUse(long calls, long micros) {

    CommandUse minus(CommandUse earlier) {
        return new CommandUse(calls - earlier.calls, micros - earlier.micros);
    }

    CommandUse plus(CommandUse other) {
        return new CommandUse(calls + other.calls, micros + other.micros);
    }
}
