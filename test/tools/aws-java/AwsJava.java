// What programs in Java do with AWS's SDK and its caching library, unchanged. Prints what it saw, one line each.
import com.amazonaws.secretsmanager.caching.SecretCache;
import java.util.HexFormat;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.services.secretsmanager.SecretsManagerClient;
import software.amazon.awssdk.services.secretsmanager.model.ResourceNotFoundException;
import software.amazon.awssdk.services.secretsmanager.model.SecretsManagerException;

class AwsJava {
  private static final String ID = "java/db";

  private static String code(Runnable call) {
    try {
      call.run();
      return "none";
    } catch (SecretsManagerException refused) {
      return refused.awsErrorDetails().errorCode();
    }
  }

  private static void saw(String what, Object value) {
    System.out.println(what + " " + value);
  }

  public static void main(String[] args) {
    try (var client = SecretsManagerClient.create()) {
      client.createSecret(r -> r.name(ID));
      saw("empty", code(() -> client.getSecretValue(r -> r.secretId(ID))));
      var bytes = SdkBytes.fromByteArray(new byte[] {0, (byte) 255});
      saw("stages", client.putSecretValue(r -> r.secretId(ID).secretBinary(bytes)).versionStages());
      var read = client.getSecretValue(r -> r.secretId(ID)).secretBinary().asByteArray();
      saw("binary", HexFormat.of().formatHex(read));
      client.putSecretValue(r -> r.secretId(ID).secretString("two"));
      try (var cache = new SecretCache(client)) {
        saw("cached", cache.getSecretString(ID));
      }
      saw("names", client.listSecrets().secretList().stream().map(one -> one.name()).toList());
      client.deleteSecret(r -> r.secretId(ID).forceDeleteWithoutRecovery(true));
      saw("absent", code(() -> client.describeSecret(r -> r.secretId(ID))));
      try {
        client.getSecretValue(r -> r.secretId("java/absent"));
      } catch (ResourceNotFoundException refused) {
        saw("type", refused.getClass().getSimpleName());
      }
    }
  }
}
