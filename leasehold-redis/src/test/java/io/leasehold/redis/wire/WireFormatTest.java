package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.redis.RedisUnderTest;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.OwnerToken;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of the vectors of {@code docs/wire-format.md}, so that the document stays consistent with the code. */
@Tag("quick")
class WireFormatTest {

    private static final Path DOCUMENT = Path.of("..", "docs", "wire-format.md");
    private static final Set<String> PURE =
            Set.of("key", "slot", "value", "shown", "attempt", "woken", "handed", "side");

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static final String CHANNEL = "lock:wake:0011223344556677";

    private final ScriptBench bench = new ScriptBench(SERVER, "vector:1");
    private final PermitBench permits = new PermitBench(SERVER, "vector:2");
    private final ScriptBench readers = new ScriptBench(SERVER, "vector:3");

    private static List<List<String>> vectors() throws IOException {
        Matcher blocks = Pattern.compile("(?s)```vectors\\n(.*?)```").matcher(Files.readString(DOCUMENT));
        List<List<String>> lines = new ArrayList<>();
        while (blocks.find()) {
            blocks.group(1)
                    .lines()
                    .map(line -> Arrays.stream(line.split("\\|", -1))
                            .map(String::strip)
                            .toList())
                    .forEach(lines::add);
        }
        return lines;
    }

    @Test
    void keysValuesAndMessagesAreAsDocumented() throws Exception {
        int checked = 0;
        for (List<String> vector : vectors()) {
            String kind = vector.get(0);
            if (isPure(kind)) {
                assertThat(pure(kind, vector.get(1))).as("%s", vector).isEqualTo(vector.get(2));
                checked++;
            }
        }
        assertThat(checked).isGreaterThanOrEqualTo(15);
    }

    private static boolean isPure(String kind) {
        return PURE.contains(kind) || kind.startsWith("in ");
    }

    private static String pure(String kind, String input) throws Exception {
        if (kind.startsWith("in ")) {
            KeyLayout layout = KeyLayout.of(kind.substring(3));
            LockName name = LockName.exactly(input);
            return layout.refusal(name) == null ? layout.lock(name) : "refused";
        }
        return switch (kind) {
            case "key" -> KeyLayout.standard().lock(LockName.exactly(input));
            case "slot" ->
                Integer.toString(SlotHash.getSlot(KeyLayout.standard().lock(LockName.exactly(input))));
            case "value" -> {
                String[] parts = input.split(" ; ", -1);
                yield LockValue.of(OwnerToken.fromHex(parts[0]), Long.parseLong(parts[1]), parts[2]);
            }
            case "side" -> KeyLayout.fence(input);
            case "shown" -> shown(input);
            case "attempt" ->
                HexFormat.of()
                        .formatHex(MessageDigest.getInstance("SHA-1").digest(input.getBytes(StandardCharsets.US_ASCII)))
                        .substring(0, 16);
            case "handed" ->
                Messages.handOver(input, KeyLayout.standard())
                        .map(h -> h.attemptId() + " " + h.tokens().first() + " "
                                + h.tokens().last() + " " + h.name() + slots(h))
                        .orElse("-");
            default ->
                Messages.wakeUp(input, KeyLayout.standard()).map(LockName::text).orElse("-");
        };
    }

    /** The slots of permits, and their count. */
    private static String slots(HandOver handOver) {
        return handOver.slots().isEmpty()
                ? ""
                : " " + handOver.slots() + " of " + handOver.name().permitCount();
    }

    private static String shown(String value) {
        ScriptBench stored = new ScriptBench(SERVER, "shown");
        SERVER.redis().set(stored.lock, value);
        Holder holder = new ReplyDecoder(new RedisErrors("node"))
                .inspect(stored.inspect(), LockName.exactly("shown"))
                .map(HeldLock::holder)
                .orElseThrow();
        String token = holder.fencingToken().isPresent()
                ? Long.toString(holder.fencingToken().getAsLong())
                : "";
        return (holder.id() + " ; " + token).strip();
    }

    @Test
    void scriptsAnswerAsDocumented() throws IOException {
        int checked = 0;
        StatefulRedisPubSubConnection<String, String> listener =
                SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        listener.sync().subscribe(CHANNEL);
        for (List<String> vector : vectors()) {
            if (isPure(vector.get(0))) {
                continue;
            }
            List<String> verb = List.of(vector.get(0).split(" ", -1));
            String[] arguments = vector.get(1).split(" ", -1);
            checked++;
            switch (verb.get(0)) {
                case "permits" -> checkPermits(verb.get(1), vector);
                case "reads" -> checkReaders(verb, vector);
                case "set" -> set(key(verb.get(1)), vector.get(1));
                case "get" -> {
                    String value = SERVER.redis().get(key(verb.get(1)));
                    assertThat(value == null ? "-" : value.replace("\n", " / "))
                            .as("%s", vector)
                            .matches(pattern(vector.get(1)));
                }
                default ->
                    assertThat(spaced(run(verb.get(0), arguments)))
                            .as("%s", vector)
                            .matches(pattern(vector.get(2)));
            }
        }
        assertThat(checked).isGreaterThanOrEqualTo(30);
        listener.close();
    }

    private void checkPermits(String verb, List<String> vector) {
        String[] arguments = vector.get(1).split(" ", -1);
        if (verb.equals("set")) {
            permits.set(vector.get(0).split(" ", -1)[2], vector.get(1));
            return;
        } else if (verb.equals("lock")) {
            permits.setLock(vector.get(1));
            return;
        }
        String answer = switch (verb) {
            case "get" -> permits.get(vector.get(0).split(" ", -1)[2]);
            case "acquire" -> spaced(permits.acquire(arguments, ""));
            case "queue" -> spaced(permits.acquire(arguments, CHANNEL));
            case "release" -> spaced(permits.release(arguments[0], arguments[1]));
            case "renew" -> spaced(permits.renew(arguments[0], arguments[1]));
            case "change" -> spaced(permits.change(arguments[0], arguments[1]));
            default -> throw new IllegalArgumentException(verb);
        };
        assertThat(answer).as("%s", vector).matches(pattern(vector.get(vector.size() - 1)));
    }

    private void checkReaders(List<String> verb, List<String> vector) {
        String[] arguments = vector.get(1).split(" ", -1);
        String owner = arguments[0].toLowerCase(Locale.ROOT).repeat(40);
        String answer = switch (verb.get(1)) {
            case "set" -> SERVER.redis().set(readers.fence, vector.get(1));
            case "get" -> stored(verb.get(2));
            case "release" -> spaced(readers.readRelease(owner, Long.parseLong(arguments[1])));
            case "renew" -> spaced(readers.readRenew(owner, Long.parseLong(arguments[1])));
            default -> {
                long candidate = Long.parseLong(arguments[1]);
                int reserve = Math.toIntExact(Long.parseLong(arguments[2]) - candidate + 1);
                ScriptBench.Proposal plain =
                        ScriptBench.plain().holder("vector/3").reserve(reserve);
                yield spaced(
                        switch (verb.get(1)) {
                            case "acquire" -> readers.readAcquire(owner, candidate, plain);
                            case "queue" -> readers.readAcquire(owner, candidate, waiting(plain));
                            case "write" -> readers.acquire(owner, candidate, plain);
                            case "queue-to-write" -> readers.acquire(owner, candidate, waiting(plain));
                            case "downgrade" ->
                                readers.downgrade(
                                        owner,
                                        candidate,
                                        arguments[3].toLowerCase(Locale.ROOT).repeat(40),
                                        plain);
                            default -> throw new IllegalArgumentException(verb.get(1));
                        });
            }
        };
        if (!verb.get(1).equals("set")) {
            assertThat(answer).as("%s", vector).matches(pattern(vector.get(vector.size() - 1)));
        }
    }

    private static ScriptBench.Proposal waiting(ScriptBench.Proposal plain) {
        return plain.waiting(60_000, CHANNEL).claiming(4_000);
    }

    /** A key of the lock with readers, or a field of them. */
    private String stored(String which) {
        String value = switch (which) {
            case "lock" -> SERVER.redis().get(readers.lock);
            case "fence" -> SERVER.redis().get(readers.fence);
            case "queued" -> SERVER.redis().get(readers.queued);
            case "all" -> SERVER.redis().hget(readers.readers, which);
            default ->
                SERVER.redis()
                        .hget(readers.readers, which.toLowerCase(Locale.ROOT).repeat(40));
        };
        return value == null ? "-" : value.replace("\n", " / ");
    }

    private static void set(String key, String value) {
        if (value.equals("-")) {
            SERVER.redis().del(key);
        } else {
            SERVER.redis().set(key, value);
        }
    }

    private String key(String which) {
        return switch (which) {
            case "lock" -> bench.lock;
            case "fence" -> bench.fence;
            default -> bench.queued;
        };
    }

    private List<Object> run(String verb, String[] arguments) {
        String owner = arguments[0].toLowerCase(Locale.ROOT).repeat(40);
        return switch (verb) {
            case "acquire", "queue" -> {
                long candidate = Long.parseLong(arguments[1]);
                int reserve = Math.toIntExact(Long.parseLong(arguments[2]) - candidate + 1);
                ScriptBench.Proposal plain =
                        ScriptBench.plain().holder("vector/1").reserve(reserve);
                yield bench.acquire(
                        owner,
                        candidate,
                        verb.equals("queue") ? plain.waiting(60_000, CHANNEL).claiming(4_000) : plain);
            }
            case "export" -> bench.export(owner, Long.parseLong(arguments[1]), arguments[2].repeat(40), 120_000);
            case "resume" -> bench.resume(owner, Long.parseLong(arguments[1]), arguments[2].repeat(40));
            case "release" -> bench.release(owner, Long.parseLong(arguments[1]));
            case "renew" -> bench.renew(new String[] {bench.lock}, arguments[1], owner + ":");
            default -> throw new IllegalArgumentException(verb);
        };
    }

    private static String spaced(List<Object> reply) {
        return reply.stream().map(String::valueOf).collect(Collectors.joining(" "));
    }

    private static String pattern(String expected) {
        return Arrays.stream(expected.split("\\*", -1)).map(Pattern::quote).collect(Collectors.joining("-?[0-9]+"));
    }
}
