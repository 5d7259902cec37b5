package io.leasehold.cli.command;

import io.leasehold.Holder;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.cli.output.Json;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The display of a holder. */
final class HolderView {

    private HolderView() {}

    static Map<String, @Nullable Object> json(Holder holder) {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("id", holder.id());
        json.put(
                "fencingToken",
                holder.fencingToken().isPresent() ? holder.fencingToken().getAsLong() : null);
        Duration remaining = holder.remainingTtl();
        json.put("remainingTtlMs", remaining == null ? null : remaining.toMillis());
        json.put(
                "ends",
                new Json.Word(holder.ends().name().toLowerCase(Locale.ROOT).replace('_', '-')));
        RunLabel label = RunLabel.in(holder.id());
        json.put("user", label == null ? null : label.user());
        json.put("command", label == null ? null : label.command());
        return json;
    }

    static Map<String, @Nullable Object> json(QueuedWaiter waiter) {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("id", waiter.holderId());
        Duration waited = waiter.waited();
        json.put("waitedMs", waited == null ? null : waited.toMillis());
        return json;
    }

    static String line(QueuedWaiter waiter) {
        Duration waited = waiter.waited();
        return waited == null ? waiter.holderId() : waiter.holderId() + " (for " + duration(waited) + ")";
    }

    /** The holder for use in a sentence: {@code held by ID (token 7, 12.3s left)}. */
    static String sentence(@Nullable Holder holder) {
        if (holder == null) {
            return "held by another client";
        }
        StringBuilder text = new StringBuilder("held by ").append(holder.id());
        String separator = " (";
        if (holder.fencingToken().isPresent()) {
            text.append(separator).append("token ").append(holder.fencingToken().getAsLong());
            separator = ", ";
        }
        Duration remaining = holder.remainingTtl();
        if (remaining != null) {
            text.append(separator).append(duration(remaining)).append(" left");
            separator = ", ";
        }
        return separator.equals(" (") ? text.toString() : text.append(')').toString();
    }

    static String token(Holder holder) {
        return holder.fencingToken().isPresent()
                ? Long.toString(holder.fencingToken().getAsLong())
                : "-";
    }

    static String remaining(Holder holder) {
        Duration remaining = holder.remainingTtl();
        if (remaining != null) {
            return duration(remaining);
        }
        return switch (holder.ends()) {
            case BY_TTL -> "not known";
            case WITH_SESSION -> "while its session lasts";
            case NEVER -> "no end";
        };
    }

    /** A duration in a suitable unit: {@code 250ms}, {@code 12.3s}, {@code 5m20s}, {@code 3h05m}. */
    static String duration(Duration duration) {
        long millis = duration.toMillis();
        if (millis < 1_000) {
            return millis + "ms";
        } else if (millis < 60_000) {
            return String.format(Locale.ROOT, "%d.%ds", millis / 1_000, millis % 1_000 / 100);
        } else if (millis < 3_600_000) {
            return String.format(Locale.ROOT, "%dm%02ds", millis / 60_000, millis % 60_000 / 1_000);
        }
        return String.format(Locale.ROOT, "%dh%02dm", millis / 3_600_000, millis % 3_600_000 / 60_000);
    }
}
