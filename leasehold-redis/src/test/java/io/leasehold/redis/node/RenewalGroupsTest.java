package io.leasehold.redis.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that the right renewals are sent together and that each gets its own answer. */
@Tag("quick")
final class RenewalGroupsTest {

    private static final OwnerToken OWNER = OwnerToken.fromHex("01".repeat(OwnerToken.BYTES));

    private final List<String> sent = new ArrayList<>();
    private final List<CompletableFuture<List<RenewReply.Item>>> answers = new ArrayList<>();

    /** The first character of a name is its slot, the number after it is the answer. */
    private static RenewalGroups groups(int most, String... names) {
        List<RenewBatch.Item> items = Stream.of(names)
                .map(name -> new RenewBatch.Item(LockName.of(name), OWNER, number(name)))
                .toList();
        return new RenewalGroups(
                items,
                most,
                item -> item.name().text() + "!",
                (item, key) -> key.endsWith("!") ? key.substring(0, 1) : "no key");
    }

    private static long number(String name) {
        return Long.parseLong(name.substring(1));
    }

    /** The answer for each lock is its own number, so that the test detects mixed-up answers. */
    private static List<RenewReply.Item> numbers(List<RenewBatch.Item> items) {
        return items.stream()
                .<RenewReply.Item>map(
                        item -> new RenewReply.Renewed(number(item.name().text())))
                .toList();
    }

    private static List<RenewReply.Item> failed(List<RenewBatch.Item> items, String words) {
        RenewReply.Item failed =
                new RenewReply.Failed(new StoreUnavailableException("no", new ServerRefusal(words, null)));
        return items.stream().map(item -> failed).toList();
    }

    private CompletableFuture<List<RenewReply.Item>> renewed(
            RenewalGroups groups, Function<List<RenewBatch.Item>, List<RenewReply.Item>> server) {
        return groups.renew(group -> {
            List<RenewBatch.Item> items = group.items();
            assertThat(group.keys())
                    .isEqualTo(
                            items.stream().map(item -> item.name().text() + "!").toList());
            sent.add(String.join(
                    " ", items.stream().map(item -> item.name().text()).toList()));
            return CompletableFuture.completedFuture(server.apply(items));
        });
    }

    @Test
    void thoseOfOneSlotLeaveTogetherAndAreAnsweredInTheOrderOfTheBatch() {
        assertThat(renewed(groups(9, "a1", "b2", "a3", "c4", "b5"), RenewalGroupsTest::numbers)
                        .join())
                .extracting(item -> ((RenewReply.Renewed) item).sentAtNanos())
                .containsExactly(1L, 2L, 3L, 4L, 5L);
        assertThat(sent).containsExactly("a1 a3", "b2 b5", "c4");
    }

    @Test
    void noMoreThanSoManyLeaveTogether() {
        assertThat(renewed(groups(2, "a1", "a2", "b3", "a4", "b5", "b6", "a7"), RenewalGroupsTest::numbers)
                        .join())
                .extracting(item -> ((RenewReply.Renewed) item).sentAtNanos())
                .containsExactly(1L, 2L, 3L, 4L, 5L, 6L, 7L);
        assertThat(sent).containsExactlyInAnyOrder("a1 a2", "a4 a7", "b3 b5", "b6");
    }

    @Test
    void allLeaveBeforeTheFirstIsAnswered() {
        CompletableFuture<List<RenewReply.Item>> all = groups(9, "a1", "b2").renew(items -> {
            answers.add(new CompletableFuture<>());
            return answers.get(answers.size() - 1);
        });
        assertThat(answers).hasSize(2);
        answers.get(1).complete(List.of(new RenewReply.Renewed(2)));
        assertThat(all).isNotDone();
        answers.get(0).complete(List.of(new RenewReply.Renewed(1)));
        assertThat(all.join()).containsExactly(new RenewReply.Renewed(1), new RenewReply.Renewed(2));
    }

    /** Its keys are at two servers then, and no script may use keys of both. */
    @Test
    void whileItsSlotIsBeingMovedEachGoesByItself() {
        assertThat(renewed(
                                groups(9, "a1", "a2", "b3"),
                                items -> items.size() > 1 ? failed(items, "TRYAGAIN Multiple keys") : numbers(items))
                        .join())
                .extracting(item -> ((RenewReply.Renewed) item).sentAtNanos())
                .containsExactly(1L, 2L, 3L);
        assertThat(sent).containsExactly("a1 a2", "a1", "a2", "b3");
    }

    @Test
    void whatFailedOtherwiseIsNotSentAgain() {
        assertThat(renewed(groups(9, "a1", "a2"), items -> failed(items, "OOM no"))
                        .join())
                .hasSize(2)
                .allMatch(RenewReply.Failed.class::isInstance);
        assertThat(renewed(groups(9, "b1"), items -> failed(items, "TRYAGAIN x"))
                        .join())
                .hasSize(1);
        assertThat(sent).containsExactly("a1 a2", "b1");
    }
}
