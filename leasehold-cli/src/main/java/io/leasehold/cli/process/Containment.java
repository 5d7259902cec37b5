package io.leasehold.cli.process;

import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The ways to contain the processes of a command, so that they can be found and ended; the strongest first. */
public enum Containment {
    /** In a control group: a process can leave it only with the right to write to the control groups. */
    CGROUP,
    /** Below a process that adopts orphans: a process can leave only through another service. */
    REAPER,
    /** By polling: a process that loses both its parent and its mark between two polls escapes. */
    REMEMBERED;

    /** The environment variable that names the strongest way to use. */
    public static final String VARIABLE = "LEASEHOLD_CONTAINMENT";

    /** Whether no process of the command escapes by itself. */
    public boolean isComplete() {
        return this != REMEMBERED;
    }

    /** The word for this way. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** The way with this word; the strongest without one; empty if there is none. */
    public static Optional<Containment> strongest(@Nullable String word) {
        if (word == null || word.isEmpty()) {
            return Optional.of(CGROUP);
        }
        for (Containment way : values()) {
            if (way.word().equals(word)) {
                return Optional.of(way);
            }
        }
        return Optional.empty();
    }
}
