package io.leasehold.verify.chaos;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The keys below a prefix, and leases; both end with the ttl of the leases. Read over etcd's gateway, which uses JSON.
 */
final class EtcdRemains implements Remains {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String QUEUES = "chaos/";
    private static final Pattern KEY = Pattern.compile("\"key\":\"([^\"]*)\"");
    private static final Pattern LEASE = Pattern.compile("\"ID\":\"([^\"]*)\"");

    private final HttpClient http = HttpClient.newHttpClient();
    private final int port;

    EtcdRemains(int port) {
        this.port = port;
    }

    @Override
    public List<String> left() throws IOException, InterruptedException {
        String behind = QUEUES.substring(0, QUEUES.length() - 1) + (char) (QUEUES.charAt(QUEUES.length() - 1) + 1);
        List<String> left = new ArrayList<>();
        String keys = ask(
                "kv/range",
                "{\"key\":\"" + base64(QUEUES) + "\",\"range_end\":\"" + base64(behind) + "\",\"keys_only\":true}");
        for (Matcher key = KEY.matcher(keys); key.find(); ) {
            left.add("the key " + new String(Base64.getDecoder().decode(key.group(1)), StandardCharsets.UTF_8));
        }
        for (Matcher lease = LEASE.matcher(ask("lease/leases", "{}")); lease.find(); ) {
            left.add("the lease " + lease.group(1));
        }
        return left;
    }

    private static String base64(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    private String ask(String method, String body) throws IOException, InterruptedException {
        HttpResponse<String> answer = http.send(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/v3/" + method))
                        .timeout(PATIENCE)
                        .POST(HttpRequest.BodyPublishers.ofString(body))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 200) {
            throw new IOException("etcd answers " + method + " with " + answer.statusCode() + ": " + answer.body());
        }
        return answer.body();
    }
}
