package io.leasehold.jdbc;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.process.ChildJvm;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/**
 * A separate process with an SQLite store, which executes commands line by line; it may see other mounts than this one.
 * Its leases last for an hour.
 */
final class LeaseProcess implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final Duration TTL = Duration.ofHours(1);

    private final ChildJvm child;
    private final String opened;

    private LeaseProcess(ChildJvm child) throws InterruptedException {
        this.child = child;
        this.opened = child.awaitLine("store ", PATIENCE);
    }

    /** The code of the separate process. */
    static final class Shell {
        private Shell() {}

        public static void main(String[] args) throws IOException {
            try (LeaseClient client = LeaseClient.open(runtime -> SqliteStore.open(Path.of(args[0]), runtime))) {
                System.out.println("store open");
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
                Map<String, OwnerToken> owners = new HashMap<>();
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                    String[] words = line.split(" ", 2);
                    OwnerToken owner = owners.computeIfAbsent(words[1], name -> client.owner());
                    System.out.println("did " + carryOut(client, words[0], words[1], owner));
                }
            } catch (LockStoreException e) {
                System.out.println("store refused " + e.getClass().getSimpleName() + ": " + e.getMessage());
            }
        }

        private static String carryOut(LeaseClient client, String verb, String name, OwnerToken owner) {
            return switch (verb) {
                case "acquire" ->
                    client.acquire(request(name, owner)).getClass().getSimpleName();
                case "wait" ->
                    client.acquire(request(name, owner).waiting(TTL.toNanos()))
                            .getClass()
                            .getSimpleName();
                case "renew" -> client.renew(name, owner, TTL).getClass().getSimpleName();
                case "release" -> client.release(name, owner).getClass().getSimpleName();
                case "cover" ->
                    client.store.operations().coverChildren().orElseThrow().toString();
                default -> throw new IllegalArgumentException(verb);
            };
        }
    }

    /** The ttl equals that of the processes. */
    static AcquireRequest request(String name, OwnerToken owner) {
        return AcquireRequest.exclusive(
                List.of(LockName.exactly(name)), owner, "test", TTL.toNanos(), LeaseClient.LIMIT.toNanos());
    }

    static LeaseProcess open(Path file) throws InterruptedException {
        return new LeaseProcess(
                ChildJvm.of(Shell.class).arguments(file.toString()).start());
    }

    /**
     * Opens the store in a mount namespace of its own.
     *
     * @param scratch a directory for temporary files
     * @param mounts shell commands that run there first; if they fail, the process ends, too
     */
    static LeaseProcess openAmongOtherMounts(Path file, Path scratch, String mounts)
            throws IOException, InterruptedException {
        Assumptions.assumeTrue(
                run("unshare", "-m", "true"), "needs the right to make a mount namespace: run as root on Linux");
        Path home = Files.createDirectories(scratch.resolve("jdk"));
        Path java = Files.createDirectories(home.resolve("bin")).resolve("java");
        Path script = Files.writeString(scratch.resolve("mounts.sh"), "set -e\n" + mounts + "\nexec \"$@\"\n");
        Files.writeString(
                java,
                "#!/bin/sh\nexec unshare -m --propagation private sh '" + script + "' '"
                        + Path.of(System.getProperty("java.home"), "bin", "java") + "' \"$@\"\n");
        Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwx------"));
        return new LeaseProcess(ChildJvm.of(Shell.class)
                .javaHome(home)
                .arguments(file.toString())
                .start());
    }

    static boolean run(String... command) throws IOException, InterruptedException {
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            process.getInputStream().readAllBytes();
            return process.waitFor(30, TimeUnit.SECONDS) && process.exitValue() == 0;
        } catch (IOException notThere) {
            return false;
        }
    }

    /** {@code store open}, or the reason why not. */
    String opened() {
        return opened;
    }

    /** Executes a verb; returns the simple name of its reply. */
    String tell(String verb, String name) throws InterruptedException {
        child.send(verb + " " + name);
        return child.awaitLine("did ", PATIENCE).substring("did ".length());
    }

    void kill() throws InterruptedException {
        child.kill();
    }

    @Override
    public void close() {
        child.close();
    }
}
