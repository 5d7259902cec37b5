package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Random requests of readers and writers to a lease table and to a node in memory: both answer the same. */
@Tag("full")
class ReadDifferentialTest {

    private static final int STEPS = 250;
    private static final List<LockName> NAMES = List.of(LockName.exactly("catalog"), LockName.exactly("stock"));

    @TempDir
    private Path directory;

    @Test
    void h2AnswersAsTheMemoryDoes() throws SQLException {
        for (int seed = 0; seed < 30; seed++) {
            new World(H2Dialect.dialect(), "jdbc:h2:mem:" + UUID.randomUUID(), seed).run();
        }
    }

    @Test
    void sqliteAnswersAsTheMemoryDoes() throws SQLException {
        for (int seed = 100; seed < 115; seed++) {
            new World(SqliteDialect.dialect(true), "jdbc:sqlite:" + directory.resolve(seed + ".db"), seed).run();
        }
    }

    private static final class World {
        private final VerbsBench bench;
        private final ReadVerbs readers;
        private final InMemoryNode node;
        private final Random random;
        private final String label;
        private final Map<OwnerToken, Long> ballots = new HashMap<>();
        private final List<OwnerToken> owners = new ArrayList<>();
        private final Map<LockName, Long> lastWriter = new HashMap<>();
        private final Map<LockName, Long> last = new HashMap<>();
        private long highest;

        World(Dialect dialect, String url, int seed) throws SQLException {
            bench = new VerbsBench(dialect, url);
            readers = bench.verbs.readers();
            node = new InMemoryNode(bench.runtime);
            random = new Random(seed);
            label = dialect.database() + " seed " + seed;
            for (int i = 0; i < 5; i++) {
                owners.add(OwnerToken.fromHex(String.format("%040x", i + 1)));
            }
        }

        void run() throws SQLException {
            for (int step = 0; step < STEPS; step++) {
                LockName name = NAMES.get(random.nextInt(NAMES.size()));
                OwnerToken owner = owners.get(random.nextInt(owners.size()));
                String at = label + " step " + step;
                switch (random.nextInt(14)) {
                    case 0, 1 -> acquire(name, owner, at);
                    case 2, 3, 4 -> acquire(name.asRead(), owner, at);
                    case 5 -> renew(name, owner, at);
                    case 6, 7 -> renew(name.asRead(), owner, at);
                    case 8 -> release(name, owner, at);
                    case 9 -> release(name.asRead(), owner, at);
                    case 10 -> downgrade(name, owner, owners.get(random.nextInt(owners.size())), at);
                    case 11 -> forceRelease(name, at);
                    case 12 -> replace(owner);
                    default -> bench.goOn(Duration.ofMillis(1 + random.nextInt(9_000)));
                }
                // Two grants within one microsecond are not of interest, nor is a clock that stands still.
                bench.goOn(Duration.ofMillis(1));
                NAMES.forEach(each -> assertSame(each, at));
            }
            bench.close();
        }

        /** An attempt has an owner token of its own. */
        private void replace(OwnerToken owner) {
            byte[] bytes = new byte[OwnerToken.BYTES];
            random.nextBytes(bytes);
            owners.set(owners.indexOf(owner), OwnerToken.fromHex(HexFormat.of().formatHex(bytes)));
        }

        private AcquireRequest request(LockName name, OwnerToken owner) {
            long ttl = Duration.ofSeconds(2 + 4L * random.nextInt(4)).toNanos();
            String holder = "holder " + owners.indexOf(owner) % 3;
            return AcquireRequest.exclusive(List.of(name), owner, holder, ttl, 1)
                    .reserve(1 + random.nextInt(2));
        }

        private void acquire(LockName name, OwnerToken owner, String at) throws SQLException {
            AcquireRequest request = request(name, owner);
            AcquireReply reply =
                    name.isRead() ? readers.acquire(request, bench.table) : bench.verbs.acquire(request, bench.table);
            Ballot ballot = ballot(reply, request, at);
            compare(reply, node.acquire(ballot).join(), at);
        }

        private void downgrade(LockName name, OwnerToken owner, OwnerToken writer, String at) throws SQLException {
            AcquireRequest request = request(name.asRead(), owner);
            if (owner.equals(writer)) {
                return;
            }
            AcquireReply reply = readers.downgrade(request, writer, bench.table);
            compare(reply, node.downgrade(ballot(reply, request, at), writer).join(), at);
        }

        private Ballot ballot(AcquireReply reply, AcquireRequest request, String at) {
            highest = Math.max(highest, bench.micros());
            if (!(reply instanceof AcquireReply.Granted granted)) {
                return new Ballot(request, ++highest, request.reserve());
            }
            TokenRange tokens = granted.grant().tokens();
            LockName lock = request.name().asExclusive();
            assertThat(tokens.first())
                    .as(at + ": a token above those before it")
                    .isGreaterThan((request.name().isRead() ? lastWriter : last).getOrDefault(lock, 0L));
            last.merge(lock, tokens.last(), Math::max);
            if (!request.name().isRead()) {
                lastWriter.put(lock, tokens.last());
            }
            highest = Math.max(highest, tokens.last());
            ballots.merge(request.owner(), tokens.last(), Math::max);
            return new Ballot(request, tokens.first(), request.reserve());
        }

        /** Without the token: the row of the lock may still have that of a reader that has ended. */
        private static List<Object> brief(@Nullable Holder holder) {
            return holder == null ? List.of() : List.of(holder.id(), Objects.requireNonNull(holder.remainingTtl()));
        }

        private static void compare(AcquireReply reply, NodeReply byNode, String at) {
            if (reply instanceof AcquireReply.Granted) {
                assertThat(byNode).as(at).isInstanceOf(NodeReply.Yes.class);
            } else {
                assertThat(reply).as(at).isInstanceOf(AcquireReply.Busy.class);
                assertThat(byNode).as(at).isInstanceOf(NodeReply.Held.class);
                assertThat(brief(((AcquireReply.Busy) reply).holder()))
                        .as(at)
                        .isEqualTo(brief(((NodeReply.Held) byNode).holder()));
            }
        }

        private void renew(LockName name, OwnerToken owner, String at) throws SQLException {
            long ttl = Duration.ofSeconds(2 + 4L * random.nextInt(4)).toNanos();
            RenewBatch batch = new RenewBatch(List.of(new RenewBatch.Item(name, owner, ttl)), 1_000);
            RenewReply reply = name.isRead()
                    ? readers.renew(name, batch, bench.table, 1, 0)
                    : bench.verbs.renew(batch, bench.table, 1, 0);
            assertThat(reply).isNotNull();
            assertThat(Objects.requireNonNull(reply).items().get(0).getClass())
                    .as(at)
                    .isEqualTo(node.renew(batch).join().items().get(0).getClass());
        }

        private void release(LockName name, OwnerToken owner, String at) throws SQLException {
            ReleaseRequest request = new ReleaseRequest(
                    List.of(name), owner, ballots.getOrDefault(owner, 0L), ReleaseRequest.Kind.RELEASE, 1);
            ReleaseReply reply =
                    name.isRead() ? readers.release(request, bench.table) : bench.verbs.release(request, bench.table);
            assertThat(reply.getClass())
                    .as(at)
                    .isEqualTo(node.release(request).join().getClass());
        }

        private void forceRelease(LockName name, String at) throws SQLException {
            @Nullable
            String holder = switch (random.nextInt(4)) {
                case 0 -> null;
                case 1 -> Holder.READERS;
                default -> "holder " + random.nextInt(3);
            };
            List<LeaseRow.Held> removed = readers.forceRelease(name, holder, bench.table);
            boolean isReleased = !removed.isEmpty() || bench.verbs.forceRelease(name, holder, bench.table) != null;
            assertThat(isReleased)
                    .as(at)
                    .isEqualTo(node.admin().forceRelease(name, holder).join());
        }

        private Optional<Duration> end(@Nullable LeaseRow stored, StoreTime now) {
            return Optional.ofNullable(stored)
                    .flatMap(row -> Optional.ofNullable(
                            bench.settings.lives().asOf(row, now).holder(now)))
                    .map(Holder::remainingTtl);
        }

        private void assertSame(LockName name, String at) {
            try {
                Optional<Holder> byNode = node.admin().describe(name).join().map(HeldLock::holder);
                LeaseRow stored = bench.table.read(name);
                StoreTime now = bench.settings.clock().read(bench.table);
                Optional<Holder> byTable = stored == null
                        ? Optional.empty()
                        : Optional.ofNullable(ReadVerbs.current(stored, bench.table, bench.settings, now)
                                .holder(now));
                assertThat(byTable).as(at).isEqualTo(byNode);
                assertThat(end(stored, now))
                        .as(at + ": the row of the lock alone ends at the same time")
                        .isEqualTo(byNode.map(Holder::remainingTtl));
                assertThat(new HashSet<>(readers.list(name, 10, bench.table)))
                        .as(at)
                        .isEqualTo(new HashSet<>(node.admin().readers(name, 10).join()));
            } catch (SQLException e) {
                throw new AssertionError(at, e);
            }
        }
    }
}
