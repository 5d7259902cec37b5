package io.leasehold.benchmarks.measure;

/**
 * The use of one command, by the server's own count.
 *
 * @param calls how often it ran, also from inside scripts
 * @param micros how long it ran altogether; a script's time contains that of its commands
 */
public record CommandUse(long calls, long micros) {

    CommandUse minus(CommandUse earlier) {
        return new CommandUse(calls - earlier.calls, micros - earlier.micros);
    }

    CommandUse plus(CommandUse other) {
        return new CommandUse(calls + other.calls, micros + other.micros);
    }
}
