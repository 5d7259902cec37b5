package io.leasehold.simulator.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("quick")
class RespExchangeTest {
    private static final String GET = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";
    private static final String EVAL = "*3\r\n$7\r\nEVALSHA\r\n$4\r\n\r\n*1\r\n$1\r\n0\r\n";
    // All features of RESP3: nested aggregates, nulls, an attribute before a map, a push in between.
    private static final String FIRST_REPLY =
            "|1\r\n+ttl\r\n:5\r\n%2\r\n+a\r\n*2\r\n$-1\r\n#t\r\n+b\r\n~1\r\n,1.5\r\n>2\r\n+message\r\n=8\r\ntxt:\r\n:1\r\n";
    private static final String SECOND_REPLY = "*3\r\n:1\r\n$5\r\n+OK\r\n\r\n_\r\n";

    @Test
    void findsTheReplyToTheSecondRequestHoweverTheBytesAreCut() {
        for (int size = 1; size <= 60; size++) {
            List<ScheduledLoss> scheduled = evalShaReply();
            RespExchange exchange = new RespExchange(scheduled);
            assertThat(passing(exchange, true, GET + EVAL + GET, size)).isEqualTo(GET + EVAL + GET);
            assertThat(scheduled).isEmpty();
            assertThat(exchange.pending()).isNotNull();
            assertThat(passing(exchange, false, FIRST_REPLY + SECOND_REPLY, size))
                    .isEqualTo(FIRST_REPLY);
        }
    }

    @Test
    void stopsFollowingWhatIsNotResp() {
        List<ScheduledLoss> scheduled = evalShaReply();
        RespExchange exchange = new RespExchange(scheduled);
        String binary = "\0\1\2EVALSHA\r\n";
        assertThat(passing(exchange, true, binary + EVAL, 3)).isEqualTo(binary + EVAL);
        assertThat(scheduled).hasSize(1);
    }

    @Test
    void countsInlineRequestsAndSkipsSubscriptionsOverResp3() {
        RespExchange exchange = new RespExchange(evalShaReply());
        String hello = "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n";
        String subscribe = "*2\r\n$10\r\nSSUBSCRIBE\r\n$1\r\nc\r\n";
        passing(exchange, true, hello + "PING\r\n" + subscribe + EVAL, 7);
        String before = "%1\r\n+server\r\n+redis\r\n+PONG\r\n>3\r\n+ssubscribe\r\n+c\r\n:1\r\n";
        assertThat(passing(exchange, false, before + "+lost\r\n", 4)).isEqualTo(before);
    }

    @Test
    void leavesSubscribedResp2ConnectionsAlone() {
        List<ScheduledLoss> scheduled = evalShaReply();
        RespExchange exchange = new RespExchange(scheduled);
        passing(exchange, true, "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n" + EVAL, 9);
        assertThat(scheduled).hasSize(1);
    }

    private static List<ScheduledLoss> evalShaReply() {
        List<ScheduledLoss> scheduled = new ArrayList<>();
        scheduled.add(new ScheduledLoss(ScheduledLoss.Kind.REPLY_THEN_RESET, r -> r.contains("EVALSHA")));
        return scheduled;
    }

    /** The part of a text that passes if it arrives in chunks of the given size. */
    private static String passing(RespExchange exchange, boolean request, String text, int size) {
        StringBuilder through = new StringBuilder();
        for (int from = 0; from < text.length(); from += size) {
            byte[] chunk =
                    text.substring(from, Math.min(text.length(), from + size)).getBytes(StandardCharsets.ISO_8859_1);
            int passing = request ? exchange.requestBytesThatPass(chunk) : exchange.replyBytesThatPass(chunk);
            through.append(new String(chunk, 0, passing, StandardCharsets.ISO_8859_1));
            if (passing < chunk.length) {
                return through.toString();
            }
        }
        return through.toString();
    }
}
