package io.leasehold.verify.client;

import io.leasehold.simulator.LeaseKind;
import io.leasehold.simulator.history.HistoryFile;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client JVM: contends for a few locks without end, in one or several threads.
 *
 * <p>Prints {@code READY} when connected. Ends in order when its standard input closes, and prints {@code DONE}.
 */
public final class ClientMain {

    private static final Logger LOG = LoggerFactory.getLogger(ClientMain.class);

    /** The lock under test; every other kind is a {@link ControlKind}. */
    public static final String LEASE = "lease";

    /** The number of permits of a name. */
    public static final int PERMITS = 2;

    /** If names come and go, several threads of a process request them, and some are interrupted while they wait. */
    private static final int THREADS = 3;

    private static final int MAX_MILLIS_BETWEEN_INTERRUPTS = 1_500;

    private final AtomicBoolean stopping = new AtomicBoolean();
    private final String[] args;

    private ClientMain(String[] args) {
        this.args = args;
    }

    /**
     * Arguments: name, seed, resource port, history file, number of locks, ttl in ms, kind of lock, updates per hold,
     * number of idle locks, kind of lease, directory of tickets.
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        String name = args[0];
        StoreAccess access = StoreAccess.fromEnvironment();
        Duration ttl = Duration.ofMillis(Long.parseLong(args[5]));
        HistoryFile history = HistoryFile.append(Path.of(args[3]));
        Contender contender = null;
        while (contender == null) {
            contender = connect(args, access, ttl, name, history);
        }
        try (Contender closing = contender) {
            ClientMain client = new ClientMain(args);
            client.stopWithInput();
            List<Thread> others = client.startOthers(closing, name);
            System.out.println("READY");
            client.work(closing, name, 0);
            for (Thread other : others) {
                other.join();
            }
        }
        System.out.println("DONE");
        System.exit(0);
    }

    private void work(Contender contender, String process, int number) throws IOException, InterruptedException {
        try (ResourceLink resource = new ResourceLink(Integer.parseInt(args[2]))) {
            SplittableRandom random = new SplittableRandom(Long.parseLong(args[1]) + number * 1_000_003L);
            Names names = new Names(process, random, Integer.parseInt(args[4]), Integer.parseInt(args[8]));
            Duration ttl = Duration.ofMillis(Long.parseLong(args[5]));
            new Worker(contender, resource, random, names, ttl, Integer.parseInt(args[7]), stopping::get).run();
        }
    }

    private List<Thread> startOthers(Contender contender, String name) {
        List<Thread> others = new ArrayList<>();
        if (contender instanceof SharedContender first && Integer.parseInt(args[8]) > 0) {
            List<SharedContender> all = new ArrayList<>(List.of(first));
            for (int i = 1; i < THREADS; i++) {
                int number = i;
                String process = name + "/" + number;
                SharedContender beside = first.beside(process);
                all.add(beside);
                Thread thread = new Thread(() -> workOrEnd(beside, process, number), process);
                thread.start();
                others.add(thread);
            }
            Thread nuisance = new Thread(() -> interruptAtRandom(List.copyOf(all)), "nuisance");
            nuisance.setDaemon(true);
            nuisance.start();
        }
        return others;
    }

    private void workOrEnd(Contender contender, String process, int number) {
        try {
            work(contender, process, number);
        } catch (IOException | InterruptedException | RuntimeException e) {
            LOG.error("{} failed", process, e);
            System.exit(1);
        }
    }

    private static void interruptAtRandom(List<SharedContender> contenders) {
        SplittableRandom random = new SplittableRandom();
        try {
            while (true) {
                TimeUnit.MILLISECONDS.sleep(random.nextInt(MAX_MILLIS_BETWEEN_INTERRUPTS));
                contenders.get(random.nextInt(contenders.size())).interrupt();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Connects. Returns null if the network is down at the moment, which these processes must survive. */
    private static @org.jspecify.annotations.Nullable Contender connect(
            String[] args, StoreAccess access, Duration ttl, String name, HistoryFile history)
            throws InterruptedException {
        try {
            LeaseKind kind = LeaseKind.valueOf(args[9]);
            if (args[6].equals(LEASE) && kind == LeaseKind.LOCKS) {
                return new LeaseContender(access, ttl, name, history);
            } else if (args[6].equals(LEASE)) {
                TicketFiles tickets = new TicketFiles(Path.of(args[10]));
                StoreAccess.Opened opened = access.connect(LeaseContender.options(ttl), "chaos");
                return new KindContender(kind, opened, tickets, name, history);
            }
            ControlKind control = ControlKind.valueOf(args[6]);
            return switch (control) {
                case QUORUM_WITHOUT_BALLOT -> new UnballotedQuorum(access.uri(), ttl, name, history);
                case REDISSON -> new RedissonContender(access.uri(), ttl, name, history);
                default -> new NaiveContender(control, access.uri(), ttl, name, history);
            };
        } catch (RuntimeException e) {
            LOG.info("{} cannot connect yet: {}", name, e.toString());
            TimeUnit.MILLISECONDS.sleep(100);
            return null;
        }
    }

    private void stopWithInput() {
        Thread watcher = new Thread(
                () -> {
                    try {
                        while (System.in.read() >= 0) {
                            // Only the end of the input counts.
                        }
                    } catch (IOException e) {
                        LOG.debug("standard input failed", e);
                    }
                    stopping.set(true);
                },
                "watcher");
        watcher.setDaemon(true);
        watcher.start();
    }
}
