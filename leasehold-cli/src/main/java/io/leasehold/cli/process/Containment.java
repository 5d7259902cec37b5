package io.leasehold.cli.process;

import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** How what a command starts is kept together, so that it can be found and ended; the strongest first. */
public enum Containment {
    /** In a control group: nothing leaves it that may not write to the control groups. */
    CGROUP,
    /** Below a process that adopts orphans: nothing leaves it but through another service. */
    REAPER,
    /** By looking again and again: what loses its parent between two looks, and its mark, is lost. */
    REMEMBERED;

    /** The environment variable that names the strongest way to be used. */
    public static final String VARIABLE = "LEASEHOLD_CONTAINMENT";

    /** Whether nothing that the command starts gets lost by itself. */
    public boolean isComplete() {
        return this != REMEMBERED;
    }

    /** The word for it. */
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
