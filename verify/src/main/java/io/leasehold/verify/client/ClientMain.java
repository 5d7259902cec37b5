package io.leasehold.verify.client;

import io.leasehold.testkit.history.HistoryFile;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client JVM: contends for a few locks without end; under each it reads and overwrites counters of the resource.
 *
 * <p>Prints {@code READY} when connected. Ends in order when its standard input does, and prints {@code DONE}.
 */
public final class ClientMain {

    private static final Logger LOG = LoggerFactory.getLogger(ClientMain.class);
    private static final Duration PATIENCE = Duration.ofSeconds(2);
    private static final int RARELY = 40;

    /** The lock under test; every other kind is a {@link ControlKind}. */
    public static final String LEASE = "lease";

    private final Contender contender;
    private final ResourceLink resource;
    private final SplittableRandom random;
    private final Names names;
    private final Duration ttl;
    private final int updates;
    private final AtomicBoolean stopping = new AtomicBoolean();

    private ClientMain(
            Contender contender,
            ResourceLink resource,
            SplittableRandom random,
            Names names,
            Duration ttl,
            int updates) {
        this.contender = contender;
        this.resource = resource;
        this.random = random;
        this.names = names;
        this.ttl = ttl;
        this.updates = updates;
    }

    /**
     * Arguments: name, seed, resource port, history file, number of locks, ttl in ms, kind of lock, updates per hold, number of locks
     * that lie idle in between.
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        String name = args[0];
        StoreAccess access = StoreAccess.fromEnvironment();
        Duration ttl = Duration.ofMillis(Long.parseLong(args[5]));
        HistoryFile history = HistoryFile.append(Path.of(args[3]));
        Contender contender = null;
        while (contender == null) {
            contender = connect(args[6], access, ttl, name, history);
        }
        try (Contender closing = contender;
                ResourceLink resource = new ResourceLink(Integer.parseInt(args[2]))) {
            SplittableRandom random = new SplittableRandom(Long.parseLong(args[1]));
            ClientMain client = new ClientMain(
                    closing,
                    resource,
                    random,
                    new Names(name, random, Integer.parseInt(args[4]), Integer.parseInt(args[8])),
                    ttl,
                    Integer.parseInt(args[7]));
            client.stopWithInput();
            System.out.println("READY");
            client.run();
        }
        System.out.println("DONE");
        System.exit(0);
    }

    /** The network may be down just now, which is what these processes live in; null then. */
    private static @org.jspecify.annotations.Nullable Contender connect(
            String kind, StoreAccess access, Duration ttl, String name, HistoryFile history)
            throws InterruptedException {
        try {
            if (kind.equals(LEASE)) {
                return new LeaseContender(access, ttl, name, history);
            }
            ControlKind control = ControlKind.valueOf(kind);
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
                            // Only the end counts.
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

    private void run() throws IOException, InterruptedException {
        while (!stopping.get()) {
            String lock = names.next();
            Contender.Held held;
            try {
                held = contender.acquire(lock, PATIENCE);
            } catch (RuntimeException e) {
                // The store cannot serve just now; that is what this run is about.
                LOG.debug("acquiring {} failed", lock, e);
                TimeUnit.MILLISECONDS.sleep(20);
                continue;
            }
            if (held != null) {
                try {
                    use(held, lock);
                } finally {
                    held.release();
                }
            }
        }
    }

    /**
     * Reads, checks the lease, works, writes: as code does that does not know when it will be paused. A pause between the
     * check and the write is what only the token covers.
     */
    private void use(Contender.Held held, String lock) throws IOException, InterruptedException {
        int most = Names.isHot(lock) ? updates : 1;
        for (int update = 0; update < most && !stopping.get(); update++) {
            OptionalLong checking = resource.read("checking/" + lock, held.token());
            OptionalLong naive = resource.read("naive/" + lock, held.token());
            if (checking.isEmpty() || (update % 16 == 0 && !held.stillHolds())) {
                return;
            }
            if (update == 0) {
                think();
            }
            resource.write("checking/" + lock, held.token(), checking.getAsLong() + 1);
            if (naive.isPresent()) {
                resource.write("naive/" + lock, held.token(), naive.getAsLong() + 1);
            }
        }
        held.stillHolds();
    }

    /** Mostly short, so that much happens; now and then longer than a ttl, so that renewal is needed. */
    private void think() throws InterruptedException {
        long most = random.nextInt(RARELY) == 0 ? ttl.toMillis() * 2 : 10;
        TimeUnit.MILLISECONDS.sleep(random.nextLong(most + 1));
    }
}
