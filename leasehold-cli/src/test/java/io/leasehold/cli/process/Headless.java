package io.leasehold.cli.process;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A process that continues after the end of its first thread; Linux shows it as a zombie. */
final class Headless {

    private static final String SCRIPT = """
            import ctypes, sys, threading, time
            def work():
                while ") Z " not in open("/proc/self/stat").read():
                    time.sleep(0.01)
                open(sys.argv[1], "w").close()
                time.sleep(100)
            threading.Thread(target=work).start()
            ctypes.CDLL(None).pthread_exit(None)
            """;

    private Headless() {}

    /** The words that start it; it creates the file when its first thread has ended. */
    static List<String> command(Path runs) {
        assumeTrue(
                new CommandLookup(System.getenv("PATH")).find("python3") instanceof CommandLookup.Result.Found,
                "python3, which can end a first thread, is not here: apt-get install python3");
        return List.of("python3", "-c", SCRIPT, runs.toString());
    }

    /** Waits for it. */
    static void await(Path runs, Process process) throws InterruptedException {
        while (!Files.exists(runs)) {
            assumeTrue(process.isAlive(), "python3 cannot end its first thread here: it needs ctypes");
            Thread.sleep(5);
        }
    }

    /** Its start time, even if the code under test does not see the process. */
    static long start(Process process) throws IOException {
        String stat =
                Files.readString(Path.of("/proc", Long.toString(process.pid()), "stat"), StandardCharsets.US_ASCII);
        return Long.parseLong(stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1)[19]);
    }
}
