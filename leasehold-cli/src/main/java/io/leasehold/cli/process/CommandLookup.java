package io.leasehold.cli.process;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Checks before a lock is acquired whether a command can be started, by a shell's rules: a name with a slash is a path, any
 * other is searched in {@code PATH}. Checks a script's interpreter, too.
 */
public final class CommandLookup {

    private static final int LONGEST_SHEBANG = 256;
    private static final char UNREADABLE = '\uFFFD';

    private final String searchPath;

    /** Creates a lookup in these directories, separated by colons. */
    public CommandLookup(@Nullable String searchPath) {
        this.searchPath = searchPath == null ? "/usr/local/bin:/usr/bin:/bin" : searchPath;
    }

    /** The result of a lookup. */
    public sealed interface Result {
        /**
         * The command can be started.
         *
         * @param path the file
         */
        record Found(Path path) implements Result {}

        /**
         * There is no such command.
         *
         * @param reason in words
         */
        record NotFound(String reason) implements Result {}

        /**
         * It exists but cannot be executed.
         *
         * @param reason in words
         */
        record NotExecutable(String reason) implements Result {}

        /** It cannot be checked, since this JVM cannot encode its name in this locale: the start decides. */
        record Unspeakable() implements Result {}
    }

    /** Finds the command. */
    public Result find(String command) {
        if (command.isEmpty()) {
            return new Result.NotFound("the command is empty");
        }
        if (command.indexOf('/') >= 0) {
            return check("", command);
        }
        Result best = new Result.NotFound("command \"" + command + "\" was not found in PATH");
        for (String directory : searchPath.split(":", -1)) {
            Result result = check(directory.isEmpty() ? "." : directory, command);
            if (result instanceof Result.Found) {
                return result;
            } else if (!(result instanceof Result.NotFound)) {
                best = result;
            }
        }
        return best;
    }

    private static Result check(String directory, String command) {
        try {
            return check(Path.of(directory, command), command);
        } catch (InvalidPathException e) {
            return TypedWords.ofTexts(List.of(directory, command)).areSpelledByThisJvm()
                    ? new Result.NotFound("\"" + command + "\" is not a valid file name: " + e.getReason())
                    : new Result.Unspeakable();
        }
    }

    private static Result check(Path file, String command) {
        if (!Files.exists(file)) {
            return new Result.NotFound("command \"" + command + "\" was not found");
        }
        if (Files.isDirectory(file)) {
            return new Result.NotExecutable("\"" + file + "\" is a directory, not a command");
        }
        if (!Files.isExecutable(file)) {
            return new Result.NotExecutable("\"" + file + "\" is not executable: chmod +x, or name its interpreter");
        }
        String interpreter = interpreter(file);
        if (interpreter == null) {
            return new Result.Found(file);
        }
        if (interpreter.endsWith("\r")) {
            return new Result.NotFound("\"" + file
                    + "\" has no interpreter: its first line ends with a carriage return; convert it with dos2unix");
        }
        return !isKnownMissing(interpreter)
                ? new Result.Found(file)
                : new Result.NotFound(
                        "\"" + file + "\" needs the interpreter \"" + interpreter + "\", which does not exist");
    }

    /** Whether it certainly does not exist. If this JVM cannot encode its name, the start decides. */
    private static boolean isKnownMissing(String interpreter) {
        boolean spelled = interpreter.indexOf(UNREADABLE) < 0
                && TypedWords.ofTexts(List.of(interpreter)).areSpelledByThisJvm();
        try {
            return spelled && !Files.exists(Path.of(interpreter));
        } catch (InvalidPathException e) {
            return false;
        }
    }

    /** The interpreter named in the first line, or null. */
    private static @Nullable String interpreter(Path file) {
        byte[] start;
        try (InputStream in = Files.newInputStream(file)) {
            start = in.readNBytes(LONGEST_SHEBANG);
        } catch (IOException unreadable) {
            return null;
        }
        String text = new String(start, StandardCharsets.UTF_8);
        int end = text.indexOf('\n');
        if (!text.startsWith("#!") || end < 0) {
            return null;
        }
        // Read the line as the kernel does, for which a carriage return is part of the name.
        String line = text.substring(2, end).replaceFirst("^[ \t]+", "");
        String word = line.split("[ \t]+", 2)[0];
        return word.startsWith("/") ? word : null;
    }
}
