package io.leasehold.cli.output;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Standard output and standard error, in UTF-8 whatever the locale, one harmless line at a time. Safe for use by any
 * thread; secrets given to it are hidden in whatever it writes.
 */
public final class Terminal {

    private static final int LEAST_SECRET = 3;

    private final PrintStream out;
    private final PrintStream err;
    private volatile List<String> secrets = List.of();

    /** Writes to these. */
    public Terminal(PrintStream out, PrintStream err) {
        this.out = out;
        this.err = err;
    }

    /** Writes to this process's standard output and standard error. */
    public static Terminal standard() {
        return new Terminal(stream(FileDescriptor.out), stream(FileDescriptor.err));
    }

    private static PrintStream stream(FileDescriptor descriptor) {
        return new PrintStream(new FileOutputStream(descriptor), true, StandardCharsets.UTF_8);
    }

    /** Texts that are shown as {@code ***} from now on; those too short to be told from ordinary text are left. */
    public void hide(List<String> texts) {
        secrets = texts.stream().filter(text -> text.length() >= LEAST_SECRET).toList();
    }

    /** One line to standard output. */
    public void print(String line) {
        out.println(SafeText.line(hidden(line)));
    }

    /** Lines to standard output. */
    public void print(List<String> lines) {
        lines.forEach(this::print);
    }

    /** Text of our own with its line breaks to standard output. */
    public void printText(String text) {
        out.print(text);
        out.flush();
    }

    /** One line to standard error, with the name of the program before it. */
    public void complain(String line) {
        err.println("leasehold: " + SafeText.line(hidden(line)));
    }

    /** One line to standard error as it is: a report for scripts. */
    public void report(String line) {
        err.println(SafeText.line(hidden(line)));
    }

    /**
     * Whether standard output (1) or standard error (2) of this process leads to a terminal. Asks the shell, which knows on
     * every system and every JDK.
     */
    public static boolean leadsToTerminal(int descriptor) {
        try {
            return new ProcessBuilder("/bin/sh", "-c", "test -t " + descriptor)
                            .inheritIO()
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException noShell) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Replaces the last line of standard error, which must be a terminal; for what is over soon. */
    public void progress(String line) {
        err.print("\r\033[K" + SafeText.line(hidden(line)) + (line.isEmpty() ? "" : " "));
        err.flush();
    }

    private String hidden(String line) {
        String safe = line;
        for (String secret : secrets) {
            safe = safe.replace(secret, "***");
        }
        return safe;
    }
}
