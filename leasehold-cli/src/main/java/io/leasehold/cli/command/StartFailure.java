package io.leasehold.cli.command;

import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Failure;
import io.leasehold.cli.process.CommandLookup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The failure of the start of a command that was found before the lock was requested. */
final class StartFailure {

    /** There is no such file: in the words of Java up to 24, and of later ones. */
    private static final Pattern NO_FILE = Pattern.compile("error=2,|error: 2 \\(");

    /** The JVM starts programs through a helper in its own folder. */
    private static final Pattern NO_HELPER = Pattern.compile("spawn helper|posix_spawn failed");

    /** Later versions say so if the helper was started, and the command was not. */
    private static final String HELPER_RAN = "Exec failed";

    private StartFailure() {}

    /**
     * The failure behind an exit code, or null if it is the command's own: a program that starts commands in a session of
     * their own exits like a shell.
     *
     * @param now the result of another lookup
     */
    static @Nullable Failure behind(int exitCode, CommandLookup.Result now) {
        if (exitCode == ExitCode.NOT_FOUND.code() && now instanceof CommandLookup.Result.NotFound none) {
            return new Failure(ExitCode.NOT_FOUND, none.reason());
        } else if (exitCode == ExitCode.NOT_EXECUTABLE.code()
                && now instanceof CommandLookup.Result.NotExecutable refused) {
            return new Failure(ExitCode.NOT_EXECUTABLE, refused.reason());
        }
        return null;
    }

    /**
     * Translates the exception of the JVM.
     *
     * @param now the result of another lookup
     */
    static Failure of(IOException problem, CommandLookup.Result now) {
        return of(problem, now, isHelperMissing());
    }

    private static boolean isHelperMissing() {
        String home = System.getProperty("java.home");
        // A program that was compiled to native code has no such folder and needs no helper.
        return home != null && Files.notExists(Path.of(home, "lib", "jspawnhelper"));
    }

    /**
     * Translates the exception of a JVM with or without its helper: a command that was found may still lack its loader or
     * interpreter, which some versions report in the same words as a missing helper.
     */
    static Failure of(IOException problem, CommandLookup.Result now, boolean helperMissing) {
        if (now instanceof CommandLookup.Result.NotFound none) {
            return new Failure(ExitCode.NOT_FOUND, none.reason());
        } else if (now instanceof CommandLookup.Result.NotExecutable refused) {
            return new Failure(ExitCode.NOT_EXECUTABLE, refused.reason());
        }
        // Newer versions add several lines of advice about Java's own files.
        String text = String.valueOf(problem.getMessage()).split("\n", 2)[0].strip();
        boolean noFile = NO_FILE.matcher(text).find();
        boolean helperGone = noFile && helperMissing && !text.contains(HELPER_RAN);
        if (NO_HELPER.matcher(text).find() || (helperGone && now instanceof CommandLookup.Result.Found)) {
            return new Failure(
                    ExitCode.INTERNAL,
                    "Java cannot start programs any more, as after an upgrade of Java while this run waited: " + text);
        }
        return new Failure(
                noFile ? ExitCode.NOT_FOUND : ExitCode.NOT_EXECUTABLE, "the command cannot be started: " + text);
    }
}
