package io.leasehold.cli.process;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Processes that have ended and are not collected, as in a container whose process 1 is an application. */
public final class Zombies {

    /** Adopts orphans, as process 1 does, and waits only for its own child. */
    private static final String ADOPTS = """
            import ctypes, os, sys
            if ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) != 0:
                sys.exit(99)
            child = os.fork()
            if child == 0:
                os.execvp(sys.argv[1], sys.argv[1:])
            status = os.waitpid(child, 0)[1]
            sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
            """;

    /** Adopts orphans, and waits for all of them. */
    private static final String COLLECTS = """
            import ctypes, os, sys
            if ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) != 0:
                sys.exit(99)
            if os.fork() == 0:
                os.execvp(sys.argv[1], sys.argv[1:])
            try:
                while True:
                    os.wait()
            except ChildProcessError:
                pass
            """;

    private static final String MAKES_ONE = """
            import os, sys, time
            child = os.fork()
            if child == 0:
                os.setpgid(0, 0)
                os._exit(0)
            while ") Z " not in open("/proc/%d/stat" % child).read():
                time.sleep(0.01)
            with open(sys.argv[1] + "~", "w") as file:
                file.write(str(child))
            os.rename(sys.argv[1] + "~", sys.argv[1])
            time.sleep(300)
            """;

    private Zombies() {}

    /** The words before a command that put it below a process that adopts orphans and does not collect them. */
    public static List<String> belowOneThatCollectsNoOrphans() {
        needsPython();
        return List.of("python3", "-c", ADOPTS);
    }

    /**
     * The same below a process that collects all orphans, so that no zombie remains and counts, whatever process 1
     * does.
     */
    static List<String> belowOneThatCollectsOrphans() {
        needsPython();
        return List.of("python3", "-c", COLLECTS);
    }

    /** Starts a process with a zombie, which is alone in its group; its id is written to the file. */
    static Process start(Path file) throws IOException, InterruptedException {
        needsPython();
        Process parent =
                new ProcessBuilder(new ArrayList<>(List.of("python3", "-c", MAKES_ONE, file.toString()))).start();
        while (!Files.exists(file)) {
            assumeTrue(parent.isAlive(), "python3 finds no zombie in /proc here");
            Thread.sleep(5);
        }
        return parent;
    }

    private static void needsPython() {
        assumeTrue(
                new CommandLookup(System.getenv("PATH")).find("python3") instanceof CommandLookup.Result.Found,
                "python3, which can leave a process uncollected, is not here: apt-get install python3");
    }
}
