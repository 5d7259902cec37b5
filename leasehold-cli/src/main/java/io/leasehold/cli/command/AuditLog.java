package io.leasehold.cli.command;

import io.leasehold.cli.Invocation;
import io.leasehold.cli.output.Json;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The audit log: one line for each operator action, to standard error and, as JSON, to the file that {@value #VARIABLE} names.
 * A failure to write the file is reported and stops nothing, since the action is done.
 */
final class AuditLog {

    /** The file to which lines are added. */
    static final String VARIABLE = "LEASEHOLD_AUDIT";

    private final Invocation invocation;

    /** The log of this invocation. */
    AuditLog(Invocation invocation) {
        this.invocation = invocation;
    }

    private static String reason(Exception e) {
        if (e instanceof NoSuchFileException) {
            return "there is no such directory";
        } else if (e instanceof AccessDeniedException) {
            return "this user may not write it";
        }
        return String.valueOf(e.getMessage());
    }

    /** Writes an action with its lock, holder and store. */
    void write(String action, String lock, String holder, String store) {
        String by = invocation.environment().getOrDefault("SUDO_USER", System.getProperty("user.name", "?"));
        Map<String, @Nullable Object> line = new LinkedHashMap<>();
        line.put("time", Instant.now().truncatedTo(ChronoUnit.MILLIS).toString());
        line.put("action", new Json.Word(action));
        line.put("lock", lock);
        line.put("holder", holder);
        line.put("store", store);
        line.put("by", by);
        String text = Json.of(line);
        invocation.terminal().complainJson("audit", line);
        String file = invocation.environment().get(VARIABLE);
        if (file == null || file.isBlank()) {
            return;
        }
        try {
            Files.writeString(
                    Path.of(file),
                    text + "\n",
                    StandardCharsets.UTF_8,
                    StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND);
        } catch (IOException | IllegalArgumentException e) {
            invocation.terminal().complain("the audit line could not be added to " + file + ": " + reason(e));
        }
    }
}
