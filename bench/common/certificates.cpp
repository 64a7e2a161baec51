// SPDX-License-Identifier: Apache-2.0
#include "common/certificates.hpp"

namespace zlink::bench {

const char* const authority_certificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBfDCCASGgAwIBAgIBATAKBggqhkjOPQQDAjAkMSIwIAYDVQQDDBl6bGluayBi\n"
    "ZW5jaG1hcmsgYXV0aG9yaXR5MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAw\n"
    "MDAwWjAkMSIwIAYDVQQDDBl6bGluayBiZW5jaG1hcmsgYXV0aG9yaXR5MFkwEwYH\n"
    "KoZIzj0CAQYIKoZIzj0DAQcDQgAEVqkvGU7OMkQiZB33VchE8yf2tsB1661dtCCj\n"
    "uTTfVwoZ9aUng3p7eJ+WaBniOLSi1Rk9vvNVn0W1pVCJ28xy4qNCMEAwDwYDVR0T\n"
    "AQH/BAUwAwEB/zAOBgNVHQ8BAf8EBAMCAQYwHQYDVR0OBBYEFAF+gZa8aj+uUPAM\n"
    "+LDScMSURuRZMAoGCCqGSM49BAMCA0kAMEYCIQCMJ0UoOJZUE3kAjZViSl6CV/1T\n"
    "FcEsGvz+Ds31PFmoHgIhAPGBYwXSwpY3Q6lMmiU5pxC404byPa0woxbA2skJVzrk\n"
    "-----END CERTIFICATE-----\n";

const char* const server_certificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBxTCCAWygAwIBAgIBAjAKBggqhkjOPQQDAjAkMSIwIAYDVQQDDBl6bGluayBi\n"
    "ZW5jaG1hcmsgYXV0aG9yaXR5MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAw\n"
    "MDAwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMB\n"
    "BwNCAAQx40uihkWuMzNIrMFCl0HZcVQEW9stCLmSMutqTaC5o73NAVbUqQMtvmGe\n"
    "idAeU61Qn0GJNh5h2AmqyB03CsTyo4GcMIGZMAwGA1UdEwEB/wQCMAAwDgYDVR0P\n"
    "AQH/BAQDAgeAMB0GA1UdJQQWMBQGCCsGAQUFBwMBBggrBgEFBQcDAjAdBgNVHQ4E\n"
    "FgQUDZV6yGJpYAffKdCHSYSSwbcS3pcwHwYDVR0jBBgwFoAUAX6BlrxqP65Q8Az4\n"
    "sNJwxJRG5FkwGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMAoGCCqGSM49BAMC\n"
    "A0cAMEQCIA9cX9IfyArgsbIVWHn3pTts/sUpEtg7aHGUcJfZB2kJAiAagkzLeP+O\n"
    "5bglBOL2VTEwa3jPVwS4uXdoQchfczytaw==\n"
    "-----END CERTIFICATE-----\n";

const char* const server_key = "-----BEGIN PRIVATE KEY-----\n"
                               "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgB5O09QzN0c7zQa2K\n"
                               "NW3WyMeoXL0TI/upFIpS/49I2ZGhRANCAAQx40uihkWuMzNIrMFCl0HZcVQEW9st\n"
                               "CLmSMutqTaC5o73NAVbUqQMtvmGeidAeU61Qn0GJNh5h2AmqyB03CsTy\n"
                               "-----END PRIVATE KEY-----\n";

} // namespace zlink::bench
